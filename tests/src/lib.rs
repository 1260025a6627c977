//! Shared parts of the test binaries.
pub mod conformance;
pub mod durable;
pub mod fault_server;
pub mod langchain4j;
pub mod logs;
pub mod protocols;
pub mod retrievers;
pub mod servers;
pub mod sources;
pub mod streams;
pub mod turns;

/// Time limit of every wait in tests. Working code never waits that long, even on a busy
/// machine.
pub const PATIENCE: std::time::Duration = std::time::Duration::from_secs(60);

/// The example of the README compiles.
#[doc = include_str!("../../README.md")]
#[cfg(doctest)]
pub struct Readme;
