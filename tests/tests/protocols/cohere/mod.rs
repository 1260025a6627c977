//! Clients of Cohere and of Cohere-compatible re-ranking servers.

mod compatible;
mod embeddings;
mod scores;

use serde_json::Value;

/// The key of every client here. It must not appear in anything that is printed.
const CANARY: &str = "co-canary-7f3a9c";

/// Returns the golden request with this name.
fn golden(name: &str) -> Value {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/protocols/cohere/golden");
    let text = std::fs::read_to_string(format!("{folder}/{name}.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}
