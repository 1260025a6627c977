//! The synchronization primitives of the queues.
//!
//! `interleaving_tests.rs` compiles the queues a second time, with primitives whose every operation is
//! scheduled by the test.

pub(super) use std::sync::{Mutex, MutexGuard};
pub(super) use tokio::sync::Semaphore;
