//! Failed authorizations.

use crate::clean::clean_text;
use crate::client::unauthorized::Unauthorized;
use ai_services_core::{Error, ErrorKind};
use rmcp::transport::auth::AuthError;
use rmcp::transport::streamable_http_client::StreamableHttpError;
use std::borrow::Cow;

/// Most characters of a text of a server in an error.
const MAX_REASON: usize = 300;

/// Wraps the failure of an authorization in the error type of the transport.
pub(super) fn transport_error(failure: Unauthorized) -> StreamableHttpError<reqwest::Error> {
    StreamableHttpError::Io(std::io::Error::other(failure))
}

/// Returns the error of an authorization that a server or the user refused.
pub(super) fn refused(reason: impl Into<Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::Authentication, reason)
}

/// Returns the error of a step of an authorization.
pub(super) fn step_error(error: &AuthError) -> Error {
    let kind = match error {
        AuthError::MetadataError(_)
        | AuthError::DiscoveryRequestFailed { .. }
        | AuthError::ProtectedResourceMetadataInvalid { .. }
        | AuthError::AuthorizationServersUnavailable { .. }
        | AuthError::AuthorizationServerMismatch { .. }
        | AuthError::AuthorizationServerMissingIssuer { .. }
        | AuthError::UrlError(_)
        | AuthError::OAuthError(_)
        | AuthError::InvalidTokenType(_) => ErrorKind::InvalidResponse,
        AuthError::PkceUnsupported => ErrorKind::Unsupported,
        _ => ErrorKind::Authentication,
    };
    Error::new(kind, clean_text(&error.to_string(), MAX_REASON))
}
