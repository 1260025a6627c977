//! Costs of one exchange with each provider, compared to a minimal client.
//!
//! A local server returns a small prepared answer: a text, a tool call and the token usage. The
//! peer sends the same request with `reqwest` and parses the same answer once with serde.
//!
//! | group | measures |
//! |---|---|
//! | `whole` | a request and its answer in one document |
//! | `stream` | a request and its answer in a dozen events |
//!
//! Before each group, the processor time of the thread of the client is printed, which is more reproducible
//! than wall-clock time. Pin the process to one processor for reproducible figures:
//!
//! ```text
//! taskset -c 0 cargo bench -p ai-services-benches --bench protocols
//! cargo bench -p ai-services-benches --bench protocols -- stream/anthropic
//! ```
#![allow(clippy::unwrap_used, reason = "a failed exchange cannot be measured")]
#![allow(clippy::print_stdout, reason = "the figures are the output")]

use ai_services::model::ChatModel;
use ai_services_benches::exchange::{ByHand, ExchangeResult};
use ai_services_benches::server::Server;
use ai_services_benches::workload;
use ai_services_tests::fault_server::{answer, chunked};
use ai_services_tests::protocols::{Client, Exchange, Mode, exchanges, hello};
use criterion::{Criterion, criterion_group, criterion_main};
use futures_util::StreamExt;
use std::fs;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Runtime;

/// Both clients of a server with the answer of an exchange.
struct Case {
    mode: Mode,
    model: Arc<dyn ChatModel>,
    by_hand: ByHand,
}

impl Case {
    /// Returns `None` if the protocol has no peer.
    fn new(runtime: &Runtime, exchange: Exchange) -> Option<Self> {
        let (content_type, body) = (exchange.content_type(), exchange.body());
        let server = Server::answering(match exchange.mode {
            Mode::Whole => answer(200, &[("content-type", content_type)], body),
            Mode::Stream => chunked(content_type, body, usize::MAX),
        });
        let model = (exchange.protocol.client)(&Client::of(&server.origin())).unwrap();
        runtime.block_on(call(&*model, exchange.mode));
        let by_hand = ByHand::new(exchange.protocol.name, &server.url(), server.last_body())?;
        let case = Self { mode: exchange.mode, model, by_hand };
        let (result, expected) = (runtime.block_on(case.call_by_hand()), exchange.expected());
        // Both clients read the same answer.
        assert_eq!(result.text, expected.text, "{exchange:?}");
        assert_eq!(
            expected.calls.iter().map(|call| &*call.2).collect::<String>(),
            result.arguments
        );
        assert!(result.tokens > 0, "{exchange:?}");
        Some(case)
    }

    async fn call(&self) {
        call(&*self.model, self.mode).await;
    }

    async fn call_by_hand(&self) -> ExchangeResult {
        match self.mode {
            Mode::Whole => self.by_hand.whole().await,
            Mode::Stream => self.by_hand.stream().await,
        }
    }
}

async fn call(model: &dyn ChatModel, mode: Mode) {
    let request = hello();
    if mode == Mode::Whole {
        black_box(model.chat(&request).await.unwrap());
        return;
    }
    let mut events = model.stream(&request);
    while let Some(event) = events.next().await {
        black_box(event.unwrap());
    }
}

fn protocols(criterion: &mut Criterion) {
    let runtime = workload::runtime();
    for exchange in exchanges() {
        let Some(case) = Case::new(&runtime, exchange) else { continue };
        let group = match exchange.mode {
            Mode::Whole => "whole",
            Mode::Stream => "stream",
        };
        let name = format!("{group}/{}", exchange.protocol.name);
        print_costs(&runtime, &name, &case);
        let mut group = criterion.benchmark_group(name);
        group.bench_function("model", |bencher| bencher.to_async(&runtime).iter(|| case.call()));
        group.bench_function("by hand", |bencher| {
            bencher.to_async(&runtime).iter(|| case.call_by_hand());
        });
    }
}

/// Prints the processor time of an exchange in the thread of the client, measured alternately for both
/// clients.
fn print_costs(runtime: &Runtime, name: &str, case: &Case) {
    const TURNS: usize = 20;
    let (mut model, mut by_hand) = (Duration::MAX, Duration::MAX);
    for _ in 0..TURNS {
        model = model.min(time_of(runtime, || case.call()));
        by_hand = by_hand.min(time_of(runtime, async || drop(case.call_by_hand().await)));
    }
    let ratio = model.as_secs_f64() / by_hand.as_secs_f64();
    println!("{name}: {model:.1?} of processor time, by hand {by_hand:.1?}, ratio {ratio:.2}");
}

/// Returns the average processor time of one exchange.
fn time_of(runtime: &Runtime, exchange: impl AsyncFn()) -> Duration {
    const ROUNDS: u32 = 50;
    let begin = thread_time();
    runtime.block_on(async {
        for _ in 0..ROUNDS {
            exchange().await;
        }
    });
    thread_time().saturating_sub(begin) / ROUNDS
}

/// Returns the processor time of this thread.
fn thread_time() -> Duration {
    let stat = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = stat.split(' ').next().and_then(|first| first.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or_default())
}

criterion_group!(benches, protocols);
criterion_main!(benches);
