//! Tools of MCP servers for services.

#[cfg(feature = "auth")]
mod auth;
mod call;
mod catalog;
mod child;
mod connection;
mod elicitation;
mod endpoint;
mod failure;
mod handler;
mod http;
mod http_client;
mod link;
mod listing;
mod pattern;
mod pins;
mod remote_server;
mod resources;
mod source;
mod tools;
mod unauthorized;
mod user_wait;
mod wire;

#[cfg(feature = "auth")]
pub use auth::{AuthorizationRequest, CredentialKey, OAuth, OAuthCredentials, TokenStore};
pub use catalog::LeftOut;
pub use elicitation::{Elicitation, ElicitationAnswer, ElicitationKind};
pub use pins::{McpPins, OnChange};
pub use remote_server::{Era, RemoteServer, WhenDown};
pub use resources::{RemotePrompt, RemotePromptArgument, RemotePromptMessage, RemoteResource};
pub use tools::{McpTools, McpToolsBuilder};
