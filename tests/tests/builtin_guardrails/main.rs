//! The guardrails that come with the crate, each on its own.
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
