//! Raw HTTP requests to a playground.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests panic on failure"
)]
#![allow(clippy::disallowed_methods, reason = "the servers of the tests run beside them")]

mod exports;
mod fixture;
mod open_turns;
mod security;
mod turns;
