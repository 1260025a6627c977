//! How many heap allocations a call makes, next to the same work written by hand.
//!
//! The counts are exact and depend on nothing but the code, so there is a budget, and the bench fails
//! above it: a call in process makes at most 15 allocations, whatever its history. One of them more
//! for each message would be a copy of the history.
//!
//! ```text
//! cargo bench -p ai-services-benches --bench allocations
//! ```
#![allow(clippy::unwrap_used, reason = "a call that fails has no cost")]
#![allow(clippy::print_stdout, reason = "the figures are the output")]

use ai_services_benches::by_hand;
use ai_services_benches::server::Server;
use ai_services_benches::workload::{self, Assistant, ReadingModel, TEXT, USER};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Allocations of one call in process.
const BUDGET: usize = 15;

/// Calls of which the average is taken: a table that grows now and then must not decide.
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

        // The server in its threads allocates nothing once its buffers have grown.
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
    println!("a call in process makes more than {BUDGET} allocations");
    ExitCode::FAILURE
}

/// The allocations of one call, after a few that are not counted.
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
