//! Shared parts of the test binaries.
pub mod conformance;
pub mod fault_server;
