//! Reading the body of an answer without trusting its size.

use super::{Ends, Limits, error_mapping};
use ai_services_core::{Error, ErrorKind};
use bytes::Bytes;
use reqwest::Response;
use std::fmt;
use std::time::Duration;

/// The most of an error's body that is read.
const MAX_ERROR_BYTES: usize = 64 << 10;

/// The most that is reserved because of what a server announced.
const MAX_RESERVED: usize = 1 << 20;

/// Why a body could not be read.
#[derive(Debug)]
pub(super) enum Broken {
    TooLarge(usize),
    /// One event of a stream is larger than this.
    EventTooLarge(usize),
    /// Nothing came in the middle of a stream for this time.
    Silent(Duration),
    Connection(reqwest::Error),
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge(limit) => {
                write!(f, "the answer is larger than {limit} bytes, the limit of this client")
            }
            Self::EventTooLarge(limit) => {
                write!(f, "a part of the answer is larger than {limit} bytes")
            }
            Self::Silent(limit) => write!(f, "the answer stopped coming for {limit:?}"),
            Self::Connection(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Broken {}

impl Broken {
    pub(super) fn into_error(self, limits: &Limits, ends: Ends) -> Error {
        let kind = match self {
            Self::TooLarge(_) | Self::EventTooLarge(_) => ErrorKind::InvalidResponse,
            Self::Silent(_) => ErrorKind::Timeout,
            Self::Connection(error) => return error_mapping::broken_body(error, limits, ends),
        };
        Error::new(kind, self.to_string())
    }
}

/// The whole body after its beginning `first`, if it has at most `limit` bytes.
pub(super) async fn read(
    response: &mut Response,
    mut first: Bytes,
    limit: usize,
) -> Result<Bytes, Broken> {
    let announced = response.content_length().and_then(|length| usize::try_from(length).ok());
    if announced.is_some_and(|length| length > limit) || first.len() > limit {
        return Err(Broken::TooLarge(limit));
    }
    let mut whole = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(Broken::Connection)? {
        if first.len().max(whole.len()).saturating_add(chunk.len()) > limit {
            return Err(Broken::TooLarge(limit));
        }
        if first.is_empty() && whole.is_empty() {
            // Most answers come in one piece, which is then not copied.
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

/// The beginning of an error's body. That it breaks or is too long does not matter.
pub(super) async fn read_some(response: &mut Response) -> Vec<u8> {
    let mut some = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        let room = MAX_ERROR_BYTES.saturating_sub(some.len());
        some.extend_from_slice(chunk.get(..room).unwrap_or(&chunk));
        if chunk.len() > room {
            break;
        }
    }
    some
}
