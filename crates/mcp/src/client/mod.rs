//! Tools of MCP servers for services.

#[cfg(feature = "auth")]
mod auth;
mod call;
mod call_state;
mod catalog;
mod child;
mod connection;
mod elicitation;
mod endpoint;
mod era;
mod failure;
mod handler;
mod http;
mod http_client;
mod http_exchange;
mod link;
mod listing;
mod pattern;
mod pins;
mod questions;
mod remote_call;
mod remote_server;
mod resources;
mod session_stream;
mod source;
mod task;
mod tools;
mod unauthorized;
mod user_wait;
mod wire;

pub use ai_services_core::approval::{Elicitation, ElicitationAnswer, ElicitationKind};
#[cfg(feature = "auth")]
pub use auth::{AuthorizationRequest, CredentialKey, OAuth, OAuthCredentials, TokenStore};
pub use catalog::LeftOut;
pub use era::Era;
pub use pins::{McpPins, OnChange};
pub use remote_server::{RemoteServer, WhenDown};
pub use resources::{RemotePrompt, RemotePromptArgument, RemotePromptMessage, RemoteResource};
pub use tools::{McpTools, McpToolsBuilder};
