//! Model Context Protocol (MCP): tools of MCP servers for services, and an MCP server for tools and services.
//!
//! Part of [`ai-services`](https://docs.rs/ai-services), which re-exports everything here as `ai_services::mcp`
//! with the feature `mcp`.
//!
//! | goal | type |
//! |---|---|
//! | Give the tools of MCP servers to a service | [`McpTools`], a [`ToolProvider`](ai_services_core::tool::ToolProvider), with a [`RemoteServer`] for each server |
//! | Detect changed definitions of tools | [`McpPins`] |
//! | Answer the questions of a server to the user | [`RemoteServer::on_elicitation`] |
//! | Read resources, fill in prompts | [`McpTools::read_resource`], [`McpTools::prompt`], or as tools: [`RemoteServer::resource_tools`], [`RemoteServer::prompt_tools`] |
//! | Offer tools and services to MCP clients | [`McpServer`] |
//! | Ask the user of the client from a tool | [`McpCall`] |
//!
//! # Eras
//!
//! The revision 2026-07-28 of the protocol is stateless. The revisions before it have a handshake and sessions, and the
//! two cannot talk to each other. [`McpTools`] probes the [`Era`] of a server; an [`McpServer`] speaks both.
//!
//! # Trust
//!
//! Servers are programs of other people. Their descriptions are read by the model, so that a hostile description is a
//! prompt injection:
//!
//! - Choose the tools by an allow-list ([`RemoteServer::only`]) and pin their definitions.
//! - The hints of a server about the effects of its tools have no influence, unless [`RemoteServer::trust_annotations`]
//!   is set. Each tool is [`AtMostOnce`](ai_services_core::tool::Effect::AtMostOnce) by default.
//! - A child process gets few variables of the environment, an HTTP server only the headers that you set for it.
//! - Links in results are not fetched.
//!
//! # Limits
//!
//! Long-running tasks (an extension of the protocol), sampling, roots and OAuth are not supported. An elicitation is
//! answered while the call waits; it does not suspend the turn.

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
