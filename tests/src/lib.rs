//! Shared parts of the test binaries.
