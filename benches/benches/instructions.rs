//! How many instructions calls take, each next to the same work written by hand.
//!
//! The cases are those of `calls`; one call after a first one that is not counted. With `http` only
//! the client's thread is counted, so the difference between a call over HTTP and one in process is
//! encoding, decoding and the HTTP client. Counts hardly depend on what else the machine does, which
//! makes them the figures to compare from one change to the next.
//!
//! Needs valgrind, and the runner of the same version as the `gungraun` in `Cargo.lock`:
//!
//! ```text
//! cargo install gungraun-runner --version 0.20.0
//! cargo bench -p ai-services-benches --bench instructions
//! ```
#![allow(clippy::unwrap_used, reason = "a call that fails has no cost")]
#![allow(missing_docs, unused_qualifications, reason = "what the macros of gungraun generate")]

use ai_services::memory::{
    ApproximateCounter, MessageWindowChatMemory, TokenCountEstimator, TokenWindowChatMemory,
};
use ai_services_benches::by_hand;
use ai_services_benches::server::Server;
use ai_services_benches::workload::{
    self, Assistant, AssistantService, ReadingModel, TEXT, USER, add_turn,
};
use gungraun::{library_benchmark, library_benchmark_group, main};
use tokio::runtime::Runtime;

/// What is set up once, and never freed, so that freeing it is not counted.
struct Case<T> {
    runtime: Runtime,
    subject: T,
}

fn case<T>(set_up: impl AsyncFnOnce() -> T) -> &'static Case<T> {
    let runtime = workload::runtime();
    let subject = runtime.block_on(set_up());
    Box::leak(Box::new(Case { runtime, subject }))
}

fn service(history: usize) -> &'static Case<AssistantService> {
    case(async || workload::assistant(ReadingModel, history).await)
}

#[library_benchmark(setup = service)]
#[benches::history(0, 10, 100, 1_000)]
fn call(case: &'static Case<AssistantService>) -> String {
    case.runtime.block_on(async { case.subject.chat(USER, TEXT).await.unwrap() })
}

fn peer(history: usize) -> &'static Case<by_hand::Assistant> {
    case(async || {
        let peer = by_hand::Assistant::new(USER, history);
        peer.chat(USER, TEXT);
        peer
    })
}

#[library_benchmark(setup = peer)]
#[benches::history(0, 10, 100, 1_000)]
fn call_by_hand(case: &'static Case<by_hand::Assistant>) -> String {
    case.runtime.block_on(async { case.subject.chat(USER, TEXT) })
}

fn researcher() -> &'static Case<AssistantService> {
    case(async || {
        let service = workload::researcher();
        service.research(TEXT).await.unwrap();
        service
    })
}

#[library_benchmark(setup = researcher)]
#[bench::rounds()]
fn tools(case: &'static Case<AssistantService>) -> usize {
    let response = case.runtime.block_on(case.subject.research(TEXT)).unwrap();
    response.tool_executions.len()
}

fn research() -> &'static Case<()> {
    case(async || drop(by_hand::research(TEXT).await))
}

#[library_benchmark(setup = research)]
#[bench::rounds()]
fn tools_by_hand(case: &'static Case<()>) -> String {
    case.runtime.block_on(by_hand::research(TEXT))
}

fn message_memory(messages: usize) -> &'static Case<MessageWindowChatMemory> {
    case(async || {
        let memory = workload::message_window(messages).await;
        add_turn(&memory).await;
        memory
    })
}

#[library_benchmark(setup = message_memory)]
#[benches::window(10, 100, 1_000)]
fn message_window(case: &'static Case<MessageWindowChatMemory>) {
    case.runtime.block_on(add_turn(&case.subject));
}

fn message_peer(messages: usize) -> &'static Case<by_hand::MessageWindow> {
    case(async || {
        let peer = by_hand::MessageWindow::new(messages);
        peer.add_turn();
        peer
    })
}

#[library_benchmark(setup = message_peer)]
#[benches::window(10, 100, 1_000)]
fn message_window_by_hand(case: &'static Case<by_hand::MessageWindow>) {
    case.runtime.block_on(async { case.subject.add_turn() });
}

fn token_memory(messages: usize) -> &'static Case<TokenWindowChatMemory> {
    case(async || {
        let memory = workload::token_window(messages).await;
        add_turn(&memory).await;
        memory
    })
}

#[library_benchmark(setup = token_memory)]
#[benches::window(10, 100, 1_000)]
fn token_window(case: &'static Case<TokenWindowChatMemory>) {
    case.runtime.block_on(add_turn(&case.subject));
}

type TokenPeer = by_hand::TokenWindow<fn(&str) -> usize>;

fn token_peer(messages: usize) -> &'static Case<TokenPeer> {
    case(async || {
        let count: fn(&str) -> usize = |text| ApproximateCounter.count_text(text);
        let peer = by_hand::TokenWindow::new(messages, count);
        peer.add_turn();
        peer
    })
}

#[library_benchmark(setup = token_peer)]
#[benches::window(10, 100, 1_000)]
fn token_window_by_hand(case: &'static Case<TokenPeer>) {
    case.runtime.block_on(async { case.subject.add_turn() });
}

fn remote_service(history: usize) -> &'static Case<AssistantService> {
    case(async || workload::remote_assistant(&Server::start().url(), history).await)
}

#[library_benchmark(setup = remote_service)]
#[benches::history(0, 10, 100, 1_000)]
fn http(case: &'static Case<AssistantService>) -> String {
    case.runtime.block_on(async { case.subject.chat(USER, TEXT).await.unwrap() })
}

fn remote_peer(history: usize) -> &'static Case<(by_hand::Assistant, by_hand::Server)> {
    case(async || {
        let peer = by_hand::Assistant::new(USER, history);
        let server = by_hand::Server::new(&Server::start().url());
        peer.chat_with(&server, USER, TEXT).await;
        (peer, server)
    })
}

#[library_benchmark(setup = remote_peer)]
#[benches::history(0, 10, 100, 1_000)]
fn http_by_hand(case: &'static Case<(by_hand::Assistant, by_hand::Server)>) -> String {
    let (peer, server) = &case.subject;
    case.runtime.block_on(peer.chat_with(server, USER, TEXT))
}

library_benchmark_group!(name = calls, benchmarks = [call, call_by_hand]);
library_benchmark_group!(name = tool_loops, benchmarks = [tools, tools_by_hand]);
library_benchmark_group!(
    name = windows,
    benchmarks = [message_window, message_window_by_hand, token_window, token_window_by_hand]
);
library_benchmark_group!(name = remote_calls, benchmarks = [http, http_by_hand]);
main!(library_benchmark_groups = [calls, tool_loops, windows, remote_calls]);
