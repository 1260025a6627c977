//! Time of calls, compared to the same work written by hand.
//!
//! | group | measures | peer |
//! |---|---|---|
//! | `call` | a call of an in-process model, with a full per-user window of this many messages | a `VecDeque` per user behind a mutex |
//! | `recorded call` | the same with a recorder of turns | the same without |
//! | `tools` | five rounds of one tool with arguments to parse, in-process model | a loop with serde |
//! | `message window`, `token window` | the two `add`s of a turn, in a full window | the same deque; a running sum |
//! | `http` | a call of a local server, with a full per-user window | `reqwest` and serde, with identical requests |
//!
//! The in-process model reads every message, so that the cost of a shared history is included.
//! The server has a separate thread; the processor on which it runs affects the time of a wake-up, so pin the
//! process to one processor for reproducible figures:
//!
//! ```text
//! taskset -c 0 cargo bench -p ai-services-benches --bench calls
//! cargo bench -p ai-services-benches --bench calls -- call/
//! ```
#![allow(clippy::unwrap_used, reason = "a failed call cannot be measured")]

use ai_services::memory::{ApproximateCounter, TokenCountEstimator};
use ai_services_benches::by_hand;
use ai_services_benches::server::Server;
use ai_services_benches::workload::{self, Assistant, ReadingModel, TEXT, USER};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};

const HISTORIES: [usize; 4] = [0, 10, 100, 1_000];
const WINDOWS: [usize; 3] = [10, 100, 1_000];

fn call(criterion: &mut Criterion) {
    let runtime = workload::runtime();
    let mut group = criterion.benchmark_group("call");
    for history in HISTORIES {
        let service = runtime.block_on(workload::assistant(ReadingModel, history));
        group.bench_function(BenchmarkId::new("service", history), |bencher| {
            bencher.to_async(&runtime).iter(async || service.chat(USER, TEXT).await.unwrap());
        });
        let peer = by_hand::Assistant::new(USER, history);
        group.bench_function(BenchmarkId::new("by hand", history), |bencher| {
            bencher.to_async(&runtime).iter(async || peer.chat(USER, TEXT));
        });
    }
}

fn recorded_call(criterion: &mut Criterion) {
    let runtime = workload::runtime();
    let mut group = criterion.benchmark_group("recorded call");
    for history in [0, 100] {
        let recorded = runtime.block_on(workload::recorded_assistant(ReadingModel, history));
        group.bench_function(BenchmarkId::new("recorded", history), |bencher| {
            bencher.to_async(&runtime).iter(async || recorded.chat(USER, TEXT).await.unwrap());
        });
        let plain = runtime.block_on(workload::assistant(ReadingModel, history));
        group.bench_function(BenchmarkId::new("plain", history), |bencher| {
            bencher.to_async(&runtime).iter(async || plain.chat(USER, TEXT).await.unwrap());
        });
    }
}

fn tools(criterion: &mut Criterion) {
    let runtime = workload::runtime();
    let mut group = criterion.benchmark_group("tools");
    let service = workload::researcher();
    group.bench_function("service", |bencher| {
        bencher.to_async(&runtime).iter(async || service.research(TEXT).await.unwrap());
    });
    group.bench_function("by hand", |bencher| {
        bencher.to_async(&runtime).iter(async || by_hand::research(TEXT).await);
    });
}

fn message_window(criterion: &mut Criterion) {
    let runtime = workload::runtime();
    let mut group = criterion.benchmark_group("message window");
    for messages in WINDOWS {
        let window = runtime.block_on(workload::message_window(messages));
        group.bench_function(BenchmarkId::new("memory", messages), |bencher| {
            bencher.to_async(&runtime).iter(async || workload::add_turn(&window).await);
        });
        let peer = by_hand::MessageWindow::new(messages);
        group.bench_function(BenchmarkId::new("by hand", messages), |bencher| {
            bencher.to_async(&runtime).iter(async || peer.add_turn());
        });
    }
}

fn token_window(criterion: &mut Criterion) {
    let runtime = workload::runtime();
    let mut group = criterion.benchmark_group("token window");
    for messages in WINDOWS {
        let window = runtime.block_on(workload::token_window(messages));
        group.bench_function(BenchmarkId::new("memory", messages), |bencher| {
            bencher.to_async(&runtime).iter(async || workload::add_turn(&window).await);
        });
        let peer = by_hand::TokenWindow::new(messages, |text| ApproximateCounter.count_text(text));
        group.bench_function(BenchmarkId::new("by hand", messages), |bencher| {
            bencher.to_async(&runtime).iter(async || peer.add_turn());
        });
    }
}

fn http(criterion: &mut Criterion) {
    let runtime = workload::runtime();
    let server = Server::start();
    let mut group = criterion.benchmark_group("http");
    for history in HISTORIES {
        let service = runtime.block_on(workload::remote_assistant(&server.url(), history));
        group.bench_function(BenchmarkId::new("service", history), |bencher| {
            bencher.to_async(&runtime).iter(async || service.chat(USER, TEXT).await.unwrap());
        });
        let peer = by_hand::Assistant::new(USER, history);
        let client = by_hand::Server::new(&server.url());
        group.bench_function(BenchmarkId::new("by hand", history), |bencher| {
            bencher.to_async(&runtime).iter(async || peer.chat_with(&client, USER, TEXT).await);
        });
    }
}

criterion_group!(calls, call, recorded_call, tools, message_window, token_window, http);
criterion_main!(calls);
