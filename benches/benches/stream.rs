//! Costs of a streamed answer, compared to a minimal client.
//!
//! A local server has 100,000 prepared tokens and sends them one by one or in writes of 64
//! KiB. The peer finds the ends of events with memchr, parses each event once with serde, and returns owned
//! tokens, which is the minimum of work.
//!
//! | group | measures |
//! |---|---|
//! | `stream` | wall-clock time of a stream of 100,000 tokens: of a model, of a service, by hand |
//! | `first token` | time from the request to the first token of a short stream |
//!
//! Before each group, the processor time and the allocations per token are printed, which are more
//! reproducible than wall-clock time. Pin the process to one processor for reproducible figures:
//!
//! ```text
//! taskset -c 0 cargo bench -p ai-services-benches --bench stream
//! ```
#![allow(clippy::unwrap_used, reason = "a failed stream cannot be measured")]
#![allow(clippy::print_stdout, reason = "the figures are the output")]

use ai_services::message::ChatMessage;
use ai_services::model::{ChatModel, ChatRequest, ModelStreamEvent};
use ai_services::providers::openai::OpenAiChatModel;
use ai_services::{AnswerStream, ai_service};
use ai_services_benches::streaming::{ByHand, Server, Writes};
use ai_services_benches::workload;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use futures_util::StreamExt;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use std::fs;
use std::hint::black_box;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const TOKENS: usize = 100_000;
const SHORT: usize = 100;
const ALL: [(&str, Writes); 2] = [("coalesced", Writes::Coalesced), ("single", Writes::Single)];

fn model(url: &str) -> OpenAiChatModel {
    OpenAiChatModel::builder().base_url(url).api_key("key").model("m").build().unwrap()
}

async fn stream(model: &OpenAiChatModel, mut token: impl FnMut(String)) {
    let request = ChatRequest::new([ChatMessage::user("Hello!")]);
    let mut events = model.stream(&request);
    while let Some(event) = events.next().await {
        match event.unwrap() {
            ModelStreamEvent::Text(text) => token(text),
            event => drop(black_box(event)),
        }
    }
}

#[ai_service]
trait Chat {
    fn chat(&self, text: &str) -> AnswerStream;
}

async fn stream_of_service(service: &ChatService, mut token: impl FnMut(String)) {
    let mut texts = service.chat("Hello!").text();
    while let Some(text) = texts.next().await {
        token(text.unwrap());
    }
}

fn counting(count: &mut usize) -> impl FnMut(String) {
    |token| {
        black_box(token);
        *count += 1;
    }
}

fn streams(criterion: &mut Criterion) {
    let runtime = workload::runtime();
    for (name, writes) in ALL {
        let server = Server::start(TOKENS, writes);
        let (model, peer) = (model(&server.url()), ByHand::new(&server.url()));
        let ours = async || {
            let mut count = 0;
            stream(&model, counting(&mut count)).await;
            assert_eq!(count, TOKENS);
        };
        let service = ChatService::builder().chat_model(model.clone()).build().unwrap();
        let of_service = async || {
            let mut count = 0;
            stream_of_service(&service, counting(&mut count)).await;
            assert_eq!(count, TOKENS);
        };
        let by_hand = async || {
            let mut count = 0;
            // The first chunk has an empty content.
            peer.stream(counting(&mut count)).await;
            assert_eq!(count, TOKENS + 1);
        };
        print_costs(&runtime, &format!("{name}, model"), ours);
        print_costs(&runtime, &format!("{name}, service"), of_service);
        print_costs(&runtime, &format!("{name}, by hand"), by_hand);
        let mut group = criterion.benchmark_group(format!("stream/{name}"));
        group.throughput(Throughput::Elements(TOKENS as u64)).sample_size(20);
        group.bench_function("model", |bencher| bencher.to_async(&runtime).iter(ours));
        group.bench_function("service", |bencher| bencher.to_async(&runtime).iter(of_service));
        group.bench_function("by hand", |bencher| bencher.to_async(&runtime).iter(by_hand));
    }
}

/// Prints the costs per token in the thread of the client.
fn print_costs(runtime: &Runtime, name: &str, stream: impl AsyncFn()) {
    const ROUNDS: usize = 5;
    runtime.block_on(stream());
    let (mut allocations, mut time) = (usize::MAX, Duration::MAX);
    for _ in 0..ROUNDS {
        let (region, begin) = (Region::new(ALLOCATOR), thread_time());
        runtime.block_on(stream());
        time = time.min(thread_time().saturating_sub(begin));
        allocations = allocations.min(region.change().allocations);
    }
    let per_token = time.as_nanos() as f64 / TOKENS as f64 / 1000.0;
    let allocations = allocations as f64 / TOKENS as f64;
    println!("{name}: {per_token:.3} us of processor time, {allocations:.3} allocations per token");
}

/// Returns the processor time of this thread.
fn thread_time() -> Duration {
    let stat = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = stat.split(' ').next().and_then(|first| first.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or_default())
}

fn first_token(criterion: &mut Criterion) {
    let runtime = workload::runtime();
    let server = Server::start(SHORT, Writes::Single);
    let (model, peer) = (model(&server.url()), ByHand::new(&server.url()));
    let mut group = criterion.benchmark_group("first token");
    group.bench_function("model", |bencher| {
        bencher.to_async(&runtime).iter_custom(async |rounds| {
            let mut sum = Duration::ZERO;
            for _ in 0..rounds {
                let mut clock = Clock::start();
                stream(&model, |token| clock.token(token)).await;
                sum += clock.first.unwrap();
            }
            sum
        });
    });
    let service = ChatService::builder().chat_model(model.clone()).build().unwrap();
    group.bench_function("service", |bencher| {
        bencher.to_async(&runtime).iter_custom(async |rounds| {
            let mut sum = Duration::ZERO;
            for _ in 0..rounds {
                let mut clock = Clock::start();
                stream_of_service(&service, |token| clock.token(token)).await;
                sum += clock.first.unwrap();
            }
            sum
        });
    });
    group.bench_function("by hand", |bencher| {
        bencher.to_async(&runtime).iter_custom(async |rounds| {
            let mut sum = Duration::ZERO;
            for _ in 0..rounds {
                let mut clock = Clock::start();
                peer.stream(|token| clock.token(token)).await;
                sum += clock.first.unwrap();
            }
            sum
        });
    });
}

struct Clock {
    start: Instant,
    first: Option<Duration>,
}

impl Clock {
    fn start() -> Self {
        Self { start: Instant::now(), first: None }
    }

    fn token(&mut self, token: String) {
        if !token.is_empty() && self.first.is_none() {
            self.first = Some(self.start.elapsed());
        }
        black_box(token);
    }
}

criterion_group!(benches, streams, first_token);
criterion_main!(benches);
