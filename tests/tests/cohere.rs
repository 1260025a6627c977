//! The clients of Cohere, and of servers that re-rank like it.

#![cfg(feature = "cohere")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a panic is how a test fails")]

#[path = "cohere/compatible.rs"]
mod compatible;
#[path = "cohere/embeddings.rs"]
mod embeddings;
#[path = "cohere/scores.rs"]
mod scores;

use serde_json::Value;

/// The key of every client here. It must not appear in anything that is printed.
const CANARY: &str = "co-canary-7f3a9c";

/// A request as it is kept beside these tests.
fn golden(name: &str) -> Value {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cohere/golden");
    let text = std::fs::read_to_string(format!("{folder}/{name}.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}
