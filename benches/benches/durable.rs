//! Time of durable turns, beside the same turns without a journal.
//!
//! | group | measures | peer |
//! |---|---|---|
//! | `turn` | a turn of five rounds with one tool call each | the same turn without a journal |
//! | `resume` | resuming a turn of 50 rounds whose last answer is missing, up to its commit | none |
//!
//! The model and the tool answer at once, so that the time is that of the framework and the store. `SQLite` and
//! `PostgreSQL` sync each append to disk, so the disk determines most of it.
//!
//! ```text
//! cargo bench -p ai-services-benches --bench durable
//! ```
#![allow(clippy::unwrap_used, reason = "a failed turn cannot be measured")]

use ai_services::memory::ChatMemoryStore;
use ai_services::message::{AiMessage, ToolCall};
use ai_services::model::{ChatModel, ChatRequest, ChatResponse};
use ai_services::store::postgres::PostgresChatMemoryStore;
use ai_services::store::redis::RedisChatMemoryStore;
use ai_services::store::sqlite::SqliteChatMemoryStore;
use ai_services::{Error, ErrorKind};
use ai_services_benches::workload::{self, Assistant, CallingModel, TEXT, Turns};
use ai_services_tests::servers::{postgres, redis};
use criterion::{Criterion, criterion_group, criterion_main};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Number of rounds of the turn that is resumed.
const ROUNDS: usize = 50;

/// Returns all stores with an available server.
async fn stores(directory: &std::path::Path) -> Vec<(&'static str, Arc<dyn ChatMemoryStore>)> {
    let sqlite = SqliteChatMemoryStore::open(directory.join("memory.sqlite")).await.unwrap();
    let mut stores: Vec<(_, Arc<dyn ChatMemoryStore>)> = vec![("sqlite", Arc::new(sqlite))];
    if let Some(server) = postgres::shared() {
        let store = PostgresChatMemoryStore::builder().url(server.url()).build().unwrap();
        store.ensure_schema().await.unwrap();
        stores.push(("postgres", Arc::new(store)));
    }
    if let Some(server) = redis::shared() {
        let store = RedisChatMemoryStore::builder().url(server.url()).connect().await.unwrap();
        store.ensure_schema().await.unwrap();
        stores.push(("redis", Arc::new(store)));
    }
    stores
}

/// A model that calls the tool in [`ROUNDS`] answers, and then fails or answers.
struct LongModel {
    last: Last,
}

/// The last answer of a [`LongModel`].
#[derive(Clone, Copy)]
enum Last {
    Fails,
    Answers,
}

#[ai_services::async_trait]
impl ChatModel for LongModel {
    async fn chat(&self, request: &ChatRequest) -> ai_services::Result<ChatResponse> {
        let round = request.turn.iter().filter(|message| message.is_tool_result()).count();
        if round < ROUNDS {
            let call = ToolCall::new("1", "lookup", workload::arguments(round));
            return Ok(ChatResponse::new(AiMessage::builder().tool_calls([call]).build()));
        }
        match self.last {
            Last::Fails => Err(Error::new(ErrorKind::Unavailable, "the last answer is missing")),
            Last::Answers => Ok(ChatResponse::new(AiMessage::new(TEXT))),
        }
    }
}

/// Returns a memory id that was not used before.
fn user() -> String {
    static USERS: AtomicU64 = AtomicU64::new(0);
    format!("user {}", USERS.fetch_add(1, Ordering::Relaxed))
}

fn durable(criterion: &mut Criterion) {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).enable_all().build().unwrap();
    let directory = tempfile::tempdir().unwrap();
    for (name, store) in runtime.block_on(stores(directory.path())) {
        let mut group = criterion.benchmark_group(format!("turn/{name}"));
        for (case, turns) in [("plain", Turns::Plain), ("durable", Turns::Durable)] {
            let service = workload::shop(CallingModel, Arc::clone(&store), turns);
            group.bench_function(case, |bencher| {
                bencher
                    .to_async(&runtime)
                    .iter(async || service.chat(&user(), TEXT).await.unwrap());
            });
        }
        group.finish();

        let service = |last| workload::shop(LongModel { last }, Arc::clone(&store), Turns::Durable);
        let (interrupted, resumed) = (service(Last::Fails), service(Last::Answers));
        let mut group = criterion.benchmark_group(format!("resume/{name}"));
        group.bench_function("50 rounds", |bencher| {
            bencher.iter_custom(|times| {
                runtime.block_on(async {
                    let mut took = Duration::ZERO;
                    for _ in 0..times {
                        let user = user();
                        interrupted.chat(&user, TEXT).await.unwrap_err();
                        let start = Instant::now();
                        resumed.resume(&*user).await.unwrap().unwrap();
                        took += start.elapsed();
                    }
                    took
                })
            });
        });
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2));
    targets = durable
}
criterion_main!(benches);
