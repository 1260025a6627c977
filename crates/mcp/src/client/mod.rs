//! Tools of MCP servers for services.

mod call;
mod catalog;
mod child;
mod connection;
mod elicitation;
mod failure;
mod handler;
mod http;
mod link;
mod listing;
mod pattern;
mod pins;
mod remote_server;
mod resources;
mod source;
mod tools;
mod wire;

pub use catalog::LeftOut;
pub use elicitation::{Elicitation, ElicitationAnswer, ElicitationKind};
pub use pins::{McpPins, OnChange};
pub use remote_server::{Era, RemoteServer, WhenDown};
pub use resources::{RemotePrompt, RemotePromptArgument, RemotePromptMessage, RemoteResource};
pub use tools::{McpTools, McpToolsBuilder};
