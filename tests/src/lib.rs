//! Shared parts of the test binaries.
pub mod conformance;
pub mod fault_server;
pub mod logs;
pub mod protocols;
pub mod retrievers;
pub mod servers;
pub mod sources;
pub mod streams;
pub mod turns;

/// How long anything may take before a test gives up. Nothing waits that long when all is well, however
/// busy the machine is.
pub const PATIENCE: std::time::Duration = std::time::Duration::from_secs(60);

/// The example of the README compiles.
#[doc = include_str!("../../README.md")]
#[cfg(doctest)]
pub struct Readme;
