//! Failed authorizations.

use crate::clean::clean_text;
use crate::client::unauthorized::Unauthorized;
use ai_services_core::{Error, ErrorKind};
use rmcp::transport::auth::AuthError;
use rmcp::transport::streamable_http_client::StreamableHttpError;
use std::borrow::Cow;

/// Most characters of a text of a server in an error.
const MAX_REASON: usize = 300;

/// The reason for which metadata without an issuer is refused.
pub(super) const NO_ISSUER: &str = "the metadata of the authorization server has no issuer";

/// Wraps the failure of an authorization in the error type of the transport.
pub(super) fn transport_error(failure: Unauthorized) -> StreamableHttpError<reqwest::Error> {
    StreamableHttpError::Io(std::io::Error::other(failure))
}

/// Returns the error of an authorization that a server or the user refused.
pub(super) fn refused(reason: impl Into<Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::Authentication, reason)
}

/// Returns the error of a step of an authorization. URLs may be secret, and are not in it.
pub(super) fn step_error(error: &AuthError) -> Error {
    let reason = match error {
        AuthError::ProtectedResourceMetadataInvalid { .. } => {
            "the metadata of the server is incomplete, or belongs to another server"
        }
        AuthError::DiscoveryRequestFailed { .. } | AuthError::MetadataError(_) => {
            "the metadata of the server or of its authorization server cannot be read"
        }
        AuthError::AuthorizationServersUnavailable { .. } => {
            "no authorization server that the server names has metadata"
        }
        AuthError::AuthorizationServerMismatch { .. } => {
            "the metadata of the authorization server belongs to another issuer"
        }
        AuthError::AuthorizationServerMissingIssuer { .. } => NO_ISSUER,
        AuthError::UrlError(_) | AuthError::OAuthError(_) => {
            "the metadata of the authorization server has an invalid URL"
        }
        AuthError::PkceUnsupported => {
            let message = "the authorization server does not support PKCE with S256";
            return Error::new(ErrorKind::Unsupported, message);
        }
        error => return refused(clean_text(&error.to_string(), MAX_REASON)),
    };
    Error::new(ErrorKind::InvalidResponse, reason)
}
