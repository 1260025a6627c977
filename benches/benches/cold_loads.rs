//! Time of a load that the cache of a store does not answer, beside the same rows read with the driver.
//!
//! This is the first turn of a conversation in a process. Each line is JSON: the database, the mode (`ours` or
//! `by-hand`), the number of messages, and the processor and wall time of one load in µs. Both modes take turns, so
//! that other load of the machine affects both. Servers are started automatically; a store without an installed
//! server is skipped.
//!
//! ```text
//! cargo bench -p ai-services-benches --bench cold_loads
//! ```
#![allow(clippy::unwrap_used, reason = "a failed load cannot be measured")]
#![allow(clippy::print_stdout, reason = "the figures are the output")]

use ai_services::memory::{ChatMemoryStore, MemoryId};
use ai_services::message::ChatMessage;
use ai_services::store::postgres::PostgresChatMemoryStore;
use ai_services::store::redis::RedisChatMemoryStore;
use ai_services::store::sqlite::SqliteChatMemoryStore;
use ai_services_benches::rows::RowStore;
use ai_services_benches::workload;
use ai_services_tests::servers::{postgres, redis};
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

const WINDOWS: [usize; 3] = [10, 100, 1_000];

/// Number of measurements of each case.
const ROUNDS: usize = 5;

/// Number of messages that one measurement loads.
const MESSAGES: usize = 50_000;

/// A store without a cache, and the same rows read by hand.
struct Subject {
    database: &'static str,
    store: Arc<dyn ChatMemoryStore>,
    peer: RowStore,
}

/// Returns all stores with an available server.
async fn subjects(directory: &std::path::Path) -> Vec<Subject> {
    let store = SqliteChatMemoryStore::builder().path(directory.join("memory.sqlite"));
    let store = Arc::new(store.cache_bytes(0).open().await.unwrap());
    let peer = RowStore::sqlite(directory).unwrap();
    let mut subjects = vec![Subject { database: "sqlite", store, peer }];
    if let Some(server) = postgres::shared() {
        let store = PostgresChatMemoryStore::builder().url(server.url()).cache_bytes(0);
        let store = store.build().unwrap();
        store.ensure_schema().await.unwrap();
        let peer = RowStore::postgres(&server.url()).await.unwrap();
        subjects.push(Subject { database: "postgres", store: Arc::new(store), peer });
    }
    if let Some(server) = redis::shared() {
        let store = RedisChatMemoryStore::builder().url(server.url()).cache_bytes(0);
        let store = store.connect().await.unwrap();
        store.ensure_schema().await.unwrap();
        let peer = RowStore::redis(&server.url()).await.unwrap();
        subjects.push(Subject { database: "redis", store: Arc::new(store), peer });
    }
    subjects
}

fn main() {
    let directory = tempfile::tempdir().unwrap();
    workload::runtime().block_on(async {
        for mut subject in subjects(directory.path()).await {
            for window in WINDOWS {
                subject.measure(window).await;
            }
        }
    });
}

impl Subject {
    /// Fills a conversation, and prints the times of its loads.
    async fn measure(&mut self, window: usize) {
        let id = MemoryId::from(format!("window of {window}"));
        let texts: Vec<_> =
            (0..window).map(|number| format!("{number:06} {}", workload::TEXT)).collect();
        let kinds = [ChatMessage::user, ChatMessage::ai].into_iter().cycle();
        let messages: Vec<_> =
            texts.iter().zip(kinds).map(|(text, kind)| kind(text.as_str())).collect();
        self.store.update_messages(&id, &messages).await.unwrap();
        self.peer.fill(id.as_str(), &texts).await.unwrap();
        assert_eq!(self.store.load(&id).await.unwrap().messages().len(), window);
        assert_eq!(self.peer.load(id.as_str()).await.unwrap().len(), window);
        let loads = MESSAGES.div_ceil(window).min(2_000);
        for _ in 0..ROUNDS {
            let start = Clocks::now();
            for _ in 0..loads {
                black_box(self.store.load(&id).await.unwrap());
            }
            start.print(self.database, "ours", window, loads);
            let start = Clocks::now();
            for _ in 0..loads {
                black_box(self.peer.load(id.as_str()).await.unwrap());
            }
            start.print(self.database, "by-hand", window, loads);
        }
    }
}

/// The clocks at the start of a measurement.
struct Clocks {
    processor: Duration,
    wall: Instant,
}

impl Clocks {
    fn now() -> Self {
        Self { processor: processor_time(), wall: Instant::now() }
    }

    /// Prints the times since the start, divided by the number of loads.
    fn print(self, database: &str, mode: &str, window: usize, loads: usize) {
        let each = |time: Duration| time.as_secs_f64() * 1e6 / loads as f64;
        let (wall, processor) =
            (each(self.wall.elapsed()), each(processor_time() - self.processor));
        println!(
            r#"{{"what":"cold","db":"{database}","mode":"{mode}","window":{window},"cpu_us":{processor:.2},"wall_us":{wall:.2}}}"#
        );
    }
}

/// Returns the time that all threads of the process have run, without the servers.
fn processor_time() -> Duration {
    let threads = std::fs::read_dir("/proc/self/task").unwrap();
    let nanoseconds = threads.map(|thread| {
        let times = std::fs::read_to_string(thread.unwrap().path().join("schedstat")).unwrap();
        times.split(' ').next().unwrap().parse::<u64>().unwrap()
    });
    Duration::from_nanos(nanoseconds.sum())
}
