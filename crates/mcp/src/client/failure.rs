//! Failures of requests and connections.

use super::child::StderrTail;
use super::remote_server::RemoteServer;
use super::unauthorized::Unauthorized;
use crate::clean::clean_text;
use ai_services_core::{Error, ErrorKind};
use rmcp::model::ErrorData;
use rmcp::service::{ClientInitializeError, ServiceError};
use rmcp::transport::streamable_http_client::StreamableHttpError;
use std::error::Error as StdError;
use std::sync::PoisonError;

/// Most characters of a text of a server in an error.
const MAX_REASON: usize = 300;

/// The failure of a request.
#[derive(Debug)]
pub(super) enum Failure {
    /// The request did not reach the server.
    NotSent(String),
    /// The request may have reached the server, and has no answer.
    NoAnswer(String),
    /// The server answered with an error.
    Rejected(ErrorData),
    /// The server or a proxy refused the request before it was processed, for example for its credentials.
    Refused(String),
    /// The request was refused, because no token can be got for it. It was not processed.
    Unauthorized(Unauthorized),
    /// The answer violates the protocol.
    Invalid(String),
}

impl Failure {
    /// `was_sent` is `false` if the transport never got the request.
    pub(super) fn new(error: ServiceError, was_sent: bool) -> Self {
        match error {
            ServiceError::McpError(error) => Self::Rejected(error),
            ServiceError::UnexpectedResponse => Self::Invalid(error.to_string()),
            ServiceError::TransportSend(error) => Self::of_transport(error.error.as_ref()),
            _ if !was_sent => Self::NotSent("the connection is closed".to_owned()),
            ServiceError::TransportClosed => Self::NoAnswer("the connection broke".to_owned()),
            error => Self::NoAnswer(error.to_string()),
        }
    }

    fn of_transport(error: &(dyn StdError + Send + Sync + 'static)) -> Self {
        if let Some(error) = error.downcast_ref::<std::io::Error>() {
            // The server cannot have read a line without its end.
            return Self::NotSent(error.to_string());
        }
        match error.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
            Some(StreamableHttpError::Client(error))
                if error.is_connect() || error.is_builder() =>
            {
                Self::NotSent("no connection to the server".to_owned())
            }
            Some(StreamableHttpError::AuthRequired(_)) => {
                Self::Refused("the server rejected the credentials".to_owned())
            }
            Some(StreamableHttpError::InsufficientScope(_)) => {
                Self::Refused("the credentials do not permit the request".to_owned())
            }
            Some(StreamableHttpError::SessionExpired) => {
                Self::NotSent("the session has expired".to_owned())
            }
            Some(StreamableHttpError::HttpStatus(error)) if error.status == 429 => {
                Self::Refused("the server refused the request: too many requests".to_owned())
            }
            Some(StreamableHttpError::Io(error)) if let Some(failure) = Unauthorized::of(error) => {
                Self::Unauthorized(Clone::clone(failure))
            }
            // The texts of reqwest contain the URL, which may be secret.
            Some(StreamableHttpError::Client(error)) if error.is_timeout() => {
                Self::NoAnswer("no answer in time".to_owned())
            }
            Some(StreamableHttpError::Client(_)) => {
                Self::NoAnswer("the connection broke".to_owned())
            }
            _ => Self::NoAnswer(clean_text(&error.to_string(), MAX_REASON)),
        }
    }

    /// Returns the error of a request that is not a tool call.
    pub(super) fn into_error(self, server: &str, action: &str) -> Error {
        let (kind, reason) = match self {
            Self::NotSent(reason) | Self::NoAnswer(reason) => (ErrorKind::Connection, reason),
            Self::Rejected(error) => {
                (ErrorKind::InvalidRequest, clean_text(&error.message, MAX_REASON))
            }
            Self::Refused(reason) => (ErrorKind::Authentication, reason),
            Self::Unauthorized(failure) => (failure.kind, failure.to_string()),
            Self::Invalid(reason) => (ErrorKind::InvalidResponse, reason),
        };
        Error::new(kind, format!("MCP server `{server}` failed to {action}: {reason}"))
    }
}

/// Returns the error of a failed connection attempt.
pub(super) fn connection_error(
    server: &RemoteServer,
    error: &ClientInitializeError,
    stderr: Option<&StderrTail>,
) -> Error {
    let name = &server.name;
    if error.is_authorization_required() {
        let message = format!("MCP server `{name}` rejected the credentials");
        return Error::new(ErrorKind::Authentication, message);
    }
    if let Some(failure) = unauthorized(error) {
        let message = format!("no connection to MCP server `{name}`");
        return Error::new(failure.kind, message).with_source(failure);
    }
    let reason = match error {
        ClientInitializeError::ConnectionClosed(_) => "it closed the connection".to_owned(),
        ClientInitializeError::TransportError { error, .. } => {
            match Failure::of_transport(error.error.as_ref()) {
                Failure::NotSent(reason) | Failure::NoAnswer(reason) | Failure::Refused(reason) => {
                    reason
                }
                Failure::Rejected(_) | Failure::Unauthorized(_) | Failure::Invalid(_) => {
                    "the connection broke".to_owned()
                }
            }
        }
        ClientInitializeError::JsonRpcError(error) => clean_text(&error.message, MAX_REASON),
        error => clean_text(&error.to_string(), MAX_REASON),
    };
    let mut message = format!("no connection to MCP server `{name}`: {reason}");
    if let Some(tail) = stderr {
        let tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&tail);
        if let Some(line) = text.lines().rfind(|line| !line.trim().is_empty()) {
            message = format!("{message}; its last error output: {}", clean_text(line, MAX_REASON));
        }
    }
    Error::new(ErrorKind::Connection, message)
}

/// Returns the failure of the authorization, if that kept the connection from being opened.
fn unauthorized(error: &ClientInitializeError) -> Option<Unauthorized> {
    match error {
        ClientInitializeError::TransportError { error, .. } => {
            match Failure::of_transport(error.error.as_ref()) {
                Failure::Unauthorized(failure) => Some(failure),
                _ => None,
            }
        }
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => unauthorized(fallback),
        _ => None,
    }
}
