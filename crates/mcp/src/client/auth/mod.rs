//! OAuth 2.1 for servers that are reached by HTTP.
//!
//! A [`Session`] adds a token to each request, and renews it when the server refuses one. An [`Authority`] talks to the
//! authorization server.

mod assertion;
mod authority;
mod authorized;
mod credentials;
mod failure;
mod fetch;
mod oauth;
mod redirect;
mod session;

pub(super) use session::Session;

pub use credentials::{CredentialKey, OAuthCredentials, TokenStore};
pub use oauth::{AuthorizationRequest, OAuth};
