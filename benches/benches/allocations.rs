//! Number of heap allocations of a call, compared to the same work written by hand.
//!
//! The counts are exact and depend only on the code, so there is a budget, and the benchmark fails
//! above it: an in-process call makes at most 15 allocations, for a history of any length. One more
//! allocation per message would be a copy of the history. The peer of a recorded call is the same call
//! without a recorder.
//!
//! ```text
//! cargo bench -p ai-services-benches --bench allocations
//! ```
#![allow(clippy::unwrap_used, reason = "a failed call cannot be measured")]
#![allow(clippy::print_stdout, reason = "the figures are the output")]

use ai_services_benches::by_hand;
use ai_services_benches::server::Server;
use ai_services_benches::workload::{self, Assistant, ReadingModel, TEXT, USER};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Maximum number of allocations of one in-process call.
const BUDGET: usize = 15;

/// Maximum number of allocations of the record of a call.
const RECORD_BUDGET: usize = 20;

/// Number of calls for the average, so that the occasional growth of a table has little influence.
const CALLS: usize = 100;

fn main() -> ExitCode {
    let mut within_budget = true;
    workload::runtime().block_on(async {
        for history in [0, 10, 100, 1_000] {
            let service = workload::assistant(ReadingModel, history).await;
            let peer = by_hand::Assistant::new(USER, history);
            let ours = count(async || drop(service.chat(USER, TEXT).await.unwrap())).await;
            let by_hand = count(async || drop(peer.chat(USER, TEXT))).await;
            println!("call, {history} messages: {ours}, by hand {by_hand}");
            within_budget &= ours <= BUDGET;
        }

        for history in [0, 100] {
            let service = workload::recorded_assistant(ReadingModel, history).await;
            let ours = count(async || drop(service.chat(USER, TEXT).await.unwrap())).await;
            let plain = workload::assistant(ReadingModel, history).await;
            let plain = count(async || drop(plain.chat(USER, TEXT).await.unwrap())).await;
            println!("recorded call, {history} messages: {ours}, by hand {plain}");
            within_budget &= ours - plain <= RECORD_BUDGET;
        }

        let service = workload::researcher();
        let ours = count(async || drop(service.research(TEXT).await.unwrap())).await;
        let by_hand = count(async || drop(by_hand::research(TEXT).await)).await;
        println!("five rounds of tools: {ours}, by hand {by_hand}");

        for messages in [10, 1_000] {
            let memory = workload::message_window(messages).await;
            let peer = by_hand::MessageWindow::new(messages);
            let ours = count(async || workload::add_turn(&memory).await).await;
            let by_hand = count(async || peer.add_turn()).await;
            println!("two messages into a window of {messages}: {ours}, by hand {by_hand}");
        }

        // The threads of the server do not allocate once their buffers have grown.
        let server = Server::start();
        for history in [0, 100] {
            let service = workload::remote_assistant(&server.url(), history).await;
            let peer = by_hand::Assistant::new(USER, history);
            let client = by_hand::Server::new(&server.url());
            let ours = count(async || drop(service.chat(USER, TEXT).await.unwrap())).await;
            let by_hand = count(async || drop(peer.chat_with(&client, USER, TEXT).await)).await;
            println!("call over HTTP, {history} messages: {ours}, by hand {by_hand}");
        }
    });
    if within_budget {
        return ExitCode::SUCCESS;
    }
    println!(
        "a call makes more than {BUDGET} allocations, or its record more than {RECORD_BUDGET}"
    );
    ExitCode::FAILURE
}

/// Returns the number of allocations per call, after a few uncounted calls.
async fn count(call: impl AsyncFn()) -> usize {
    for _ in 0..3 {
        call().await;
    }
    let region = Region::new(ALLOCATOR);
    for _ in 0..CALLS {
        call().await;
    }
    let change = region.change();
    (change.allocations + change.reallocations) / CALLS
}
