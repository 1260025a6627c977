//! End-to-end tests of the programs in the examples package: offline, through pipes.

mod approval;
mod chat;
mod formatting;
mod harness;
mod mcp;
mod memory;
mod models;
mod questions;
mod streaming;

use harness::{finished, offline};
use std::path::Path;

#[tokio::test]
async fn small_examples_run_offline() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/examples");
    let mut count = 0;
    for entry in sources.read_dir().unwrap() {
        let source = entry.unwrap().path();
        if source.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let example = source.file_stem().unwrap().to_str().unwrap();
        let (code, output, errors) = finished(&mut offline(example)).await;
        assert_eq!(code, Some(0), "{example}: {errors}");
        // The output of an MCP server belongs to the protocol.
        assert_eq!(output.is_empty(), example == "mcp_server", "{example}");
        count += 1;
    }
    assert!(count >= 10, "only {count} examples were found");
}
