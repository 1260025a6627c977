//! The built-in guardrails, each tested separately.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that fails panics"
)]

mod injection;
mod judge;
mod kit;
mod models;
mod texts;
