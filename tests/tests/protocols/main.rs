//! Every chat protocol against a server and a network that fail in every way.
//!
//! Each test is the same for all of [`protocols::all`], whole and streamed. What is special to one
//! protocol is tested beside it.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a panic is how a test fails")]

mod answers;
mod breaks;
mod contents;
mod encodings;
mod framing;
mod retries;
mod stalls;
mod statuses;
mod streams;

use ai_services_tests::fault_server::{FaultServer, Step};

async fn start(scripts: impl IntoIterator<Item = Vec<Step>>) -> FaultServer {
    FaultServer::start(scripts).await.unwrap()
}
