//! Clients of all providers against a server and a network that fail in every way.
//!
//! The modules at this level run the same tests for all of [`protocols::all`], with and without streaming. A folder
//! per provider has the tests of one protocol.
//!
//! [`protocols::all`]: ai_services_tests::protocols::all
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests panic on failure"
)]
#![allow(clippy::needless_pass_by_value, reason = "callers pass literals")]

mod answers;
#[cfg(feature = "anthropic")]
mod anthropic;
mod breaks;
#[cfg(feature = "cohere")]
mod cohere;
mod contents;
mod empty_answers;
mod encodings;
mod fetch;
mod fixtures;
mod framing;
#[cfg(feature = "gemini")]
mod gemini;
mod interleaved;
#[cfg(feature = "ollama")]
mod ollama;
mod openai;
mod openai_responses;
mod random_faults;
mod retries;
mod stalls;
mod statuses;
mod stream_cuts;
mod streams;
mod web_search;

use ai_services_tests::fault_server::{FaultServer, Step};

async fn start(scripts: impl IntoIterator<Item = Vec<Step>>) -> FaultServer {
    FaultServer::start(scripts).await.unwrap()
}
