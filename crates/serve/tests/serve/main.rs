//! A server of real services with scripted models, over HTTP.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests panic on failure"
)]
#![allow(clippy::needless_pass_by_value, reason = "callers pass literals")]

mod ag_ui;
mod chat_completions;
mod client;
mod decisions;
mod disconnects;
mod fixture;
mod limits;
mod memory;
mod observed;
mod responses;
mod shutdown;
mod tcp_client;
mod ui_messages;
