//! Reading of bodies within size limits.

use super::{AttemptTimeout, Limits, error_mapping};
use ai_services_core::{Error, ErrorKind};
use bytes::Bytes;
use reqwest::Response;
use std::fmt;
use std::time::Duration;

/// Maximum number of bytes that are read of the body of an error.
const MAX_ERROR_BYTES: usize = 64 << 10;

/// Maximum number of bytes that are reserved for a `content-length`.
const MAX_RESERVED: usize = 1 << 20;

/// The error of a body that cannot be read.
#[derive(Debug)]
pub(super) enum BodyError {
    /// The body is larger than this number of bytes.
    TooLarge(usize),
    /// An event of a stream is larger than this number of bytes.
    EventTooLarge(usize),
    /// A stream sent no data for this time.
    Idle(Duration),
    Connection(reqwest::Error),
}

impl fmt::Display for BodyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge(limit) => {
                write!(f, "the answer is larger than {limit} bytes, the limit of this client")
            }
            Self::EventTooLarge(limit) => {
                write!(f, "a part of the answer is larger than {limit} bytes")
            }
            Self::Idle(limit) => write!(f, "no data received for {limit:?}"),
            Self::Connection(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for BodyError {}

impl BodyError {
    /// Converts the error into the error of the call.
    pub(super) fn into_error(self, limits: &Limits, timeout: AttemptTimeout) -> Error {
        let kind = match self {
            Self::TooLarge(_) | Self::EventTooLarge(_) => ErrorKind::InvalidResponse,
            Self::Idle(_) => ErrorKind::Timeout,
            Self::Connection(error) => return error_mapping::broken_body(error, limits, timeout),
        };
        Error::new(kind, self.to_string())
    }
}

/// Reads the rest of a body that begins with `first`, and returns the whole body.
///
/// # Errors
///
/// [`BodyError::TooLarge`] if the body has more than `limit` bytes, and [`BodyError::Connection`] if the
/// connection fails.
pub(super) async fn read(
    response: &mut Response,
    mut first: Bytes,
    limit: usize,
) -> Result<Bytes, BodyError> {
    let announced = response.content_length().and_then(|length| usize::try_from(length).ok());
    if announced.is_some_and(|length| length > limit) || first.len() > limit {
        return Err(BodyError::TooLarge(limit));
    }
    let mut whole = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(BodyError::Connection)? {
        if first.len().max(whole.len()).saturating_add(chunk.len()) > limit {
            return Err(BodyError::TooLarge(limit));
        }
        if first.is_empty() && whole.is_empty() {
            // Most answers arrive in one chunk, which is not copied.
            first = chunk;
            continue;
        }
        if whole.is_empty() {
            let expected = first.len().saturating_add(chunk.len());
            whole.reserve(announced.unwrap_or(0).min(MAX_RESERVED).max(expected));
            whole.extend_from_slice(&first);
        }
        whole.extend_from_slice(&chunk);
    }
    Ok(if whole.is_empty() { first } else { whole.into() })
}

/// Reads the body of an error, truncated to [`MAX_ERROR_BYTES`]. A connection error ends the body.
pub(super) async fn read_error_body(response: &mut Response) -> Vec<u8> {
    let mut start = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        let room = MAX_ERROR_BYTES.saturating_sub(start.len());
        start.extend_from_slice(chunk.get(..room).unwrap_or(&chunk));
        if chunk.len() > room {
            break;
        }
    }
    start
}
