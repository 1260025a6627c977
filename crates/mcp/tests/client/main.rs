//! Tests of the client against scripted servers.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests panic on failure"
)]
#![allow(clippy::needless_pass_by_value, reason = "callers pass literals")]

mod agent;
mod calls;
mod cuts;
mod durable;
mod elicitation;
mod hostile;
mod http;
mod http_server;
mod lost_session;
mod mortal_store;
#[cfg(feature = "auth")]
mod oauth;
mod pins;
mod processes;
mod resources;
mod scripted_server;
mod selection;
mod session_stream;
mod suspended;
mod tasks;
