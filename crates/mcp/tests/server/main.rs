//! The MCP server, driven by raw messages.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    reason = "tests panic on failure, and pass messages as they are written"
)]

mod cancellation;
mod definitions;
mod hostile;
mod http;
mod limits;
mod line_client;
mod questions;
mod sessions;
mod stdio;
mod web_client;
