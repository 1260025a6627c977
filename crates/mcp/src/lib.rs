//! Model Context Protocol (MCP): tools of MCP servers for services, and an MCP server for tools and services.
//!
//! Part of [`ai-services`](https://docs.rs/ai-services), which re-exports everything here as `ai_services::mcp`
//! with the feature `mcp`.
//!
//! Both eras of the protocol are supported: the revisions up to 2025-11-25, with a handshake and sessions, and the
//! stateless revision 2026-07-28.
//!
//! [`McpTools`] gives the tools of [`RemoteServer`]s to a service. It is a
//! [`ToolProvider`](ai_services_core::tool::ToolProvider).

mod clean;
mod client;
mod content;
mod definition;
mod names;
mod server;

pub use client::{
    Elicitation, ElicitationAnswer, ElicitationKind, Era, LeftOut, McpPins, McpTools,
    McpToolsBuilder, OnChange, RemotePrompt, RemotePromptArgument, RemotePromptMessage,
    RemoteResource, RemoteServer, WhenDown,
};
pub use content::{STRUCTURED_CONTENT, USER_CONTENT};
pub use server::{
    McpCall, McpHttpBody, McpHttpService, McpPrincipal, McpResource, McpServer, McpServerBuilder,
};
