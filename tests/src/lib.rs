//! Shared parts of the test binaries.
pub mod conformance;
pub mod fault_server;
pub mod logs;
pub mod protocols;
pub mod retrievers;
pub mod servers;
pub mod streams;
pub mod turns;

/// The example of the README compiles.
#[doc = include_str!("../../README.md")]
#[cfg(doctest)]
pub struct Readme;
