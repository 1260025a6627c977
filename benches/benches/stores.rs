//! Time of a turn in a store, by the number of messages in the window.
//!
//! | group | measures | peer |
//! |---|---|---|
//! | `commit` | the commit of a turn of two messages that evicts two | twice: read the list, add, evict, write the list |
//! | `load` | loading the conversation at the start of a turn | reading the list |
//!
//! The peer uses a store like a memory of LangChain4j, on the same database. Servers are started
//! automatically; a store without an installed server is skipped. `SQLite`, `PostgreSQL` and `Redis`
//! (`appendfsync always`) sync each commit to disk, so the disk determines the figures of small windows.
//!
//! ```text
//! cargo bench -p ai-services-benches --bench stores
//! cargo bench -p ai-services-benches --bench stores -- commit/sqlite
//! ```
#![allow(clippy::unwrap_used, reason = "a failed commit cannot be measured")]

use ai_services::memory::{ChatMemoryStore, MemoryId};
use ai_services::message::ChatMessage;
use ai_services::store::cassandra::CassandraChatMemoryStore;
use ai_services::store::postgres::PostgresChatMemoryStore;
use ai_services::store::redis::RedisChatMemoryStore;
use ai_services::store::sqlite::SqliteChatMemoryStore;
use ai_services_benches::rewrite::ListStore;
use ai_services_benches::workload;
use ai_services_tests::servers::{cassandra, postgres, redis};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use std::sync::Arc;
use std::time::{Duration, Instant};

const WINDOWS: [usize; 3] = [10, 100, 1_000];

/// A store and its peer on the same database.
struct Subject {
    name: &'static str,
    store: Arc<dyn ChatMemoryStore>,
    peer: ListStore,
}

/// Returns all stores with an available server.
async fn subjects(directory: &std::path::Path) -> Vec<Subject> {
    let mut subjects = Vec::new();
    let store = SqliteChatMemoryStore::open(directory.join("memory.sqlite")).await.unwrap();
    let peer = ListStore::sqlite(directory).unwrap();
    subjects.push(Subject { name: "sqlite", store: Arc::new(store), peer });
    if let Some(server) = postgres::shared() {
        let store = PostgresChatMemoryStore::builder().url(server.url()).build().unwrap();
        store.ensure_schema().await.unwrap();
        let peer = ListStore::postgres(&server.url()).await.unwrap();
        subjects.push(Subject { name: "postgres", store: Arc::new(store), peer });
    }
    if let Some(server) = redis::shared() {
        let store = RedisChatMemoryStore::builder().url(server.url()).connect().await.unwrap();
        store.ensure_schema().await.unwrap();
        let peer = ListStore::redis(&server.url()).await.unwrap();
        subjects.push(Subject { name: "redis", store: Arc::new(store), peer });
    }
    if let Some(server) = cassandra::shared() {
        let store = CassandraChatMemoryStore::builder().contact_points([server.address()]);
        let store = store.connect().await.unwrap();
        store.ensure_schema().await.unwrap();
        let peer = ListStore::cassandra(&server.address()).await.unwrap();
        subjects.push(Subject { name: "cassandra", store: Arc::new(store), peer });
    }
    subjects
}

/// Returns a message of typical length.
fn message(number: usize) -> ChatMessage {
    let text = format!("{number}: {}", workload::TEXT);
    if number.is_multiple_of(2) { ChatMessage::user(text) } else { ChatMessage::ai(text) }
}

fn turn() -> [ChatMessage; 2] {
    [message(0), message(1)]
}

fn stores(criterion: &mut Criterion) {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).enable_all().build().unwrap();
    let directory = tempfile::tempdir().unwrap();
    for mut subject in runtime.block_on(subjects(directory.path())) {
        for window in WINDOWS {
            let id = MemoryId::from(format!("window of {window}"));
            let history: Vec<_> = (0..window).map(message).collect();
            runtime.block_on(subject.store.update_messages(&id, &history)).unwrap();
            runtime.block_on(subject.peer.store(id.as_str(), &history)).unwrap();

            let mut group = criterion.benchmark_group(format!("commit/{}", subject.name));
            group.bench_function(BenchmarkId::new("store", window), |bencher| {
                bencher.iter_custom(|times| runtime.block_on(commits(&*subject.store, &id, times)));
            });
            group.bench_function(BenchmarkId::new("rewrite", window), |bencher| {
                bencher.iter_custom(|times| {
                    runtime.block_on(rewrites(&mut subject.peer, &id, window, times))
                });
            });
            group.finish();

            let mut group = criterion.benchmark_group(format!("load/{}", subject.name));
            group.bench_function(BenchmarkId::new("store", window), |bencher| {
                bencher.to_async(&runtime).iter(async || subject.store.load(&id).await.unwrap());
            });
            group.bench_function(BenchmarkId::new("rewrite", window), |bencher| {
                bencher.iter_custom(|times| runtime.block_on(loads(&mut subject.peer, &id, times)));
            });
        }
    }
}

/// Measures only the commits. The conversation is loaded before each commit, because a commit needs the
/// current version.
async fn commits(store: &dyn ChatMemoryStore, id: &MemoryId, times: u64) -> Duration {
    let mut took = Duration::ZERO;
    for _ in 0..times {
        let change = store.load(id).await.unwrap().change(0..2, turn().into());
        let start = Instant::now();
        store.commit(id, change).await.unwrap();
        took += start.elapsed();
    }
    took
}

async fn rewrites(peer: &mut ListStore, id: &MemoryId, window: usize, times: u64) -> Duration {
    let start = Instant::now();
    for _ in 0..times {
        for message in turn() {
            peer.add(id.as_str(), message, window).await.unwrap();
        }
    }
    start.elapsed()
}

async fn loads(peer: &mut ListStore, id: &MemoryId, times: u64) -> Duration {
    let start = Instant::now();
    for _ in 0..times {
        std::hint::black_box(peer.load(id.as_str()).await.unwrap());
    }
    start.elapsed()
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2));
    targets = stores
}
criterion_main!(benches);
