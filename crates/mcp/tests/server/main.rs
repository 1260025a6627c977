//! The MCP server, driven by raw messages.

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
