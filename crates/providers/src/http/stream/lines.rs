//! JSON lines: one document per line, without other framing.

use super::limited_body::LimitedBody;
use crate::http::body::BodyError;
use bytes::Bytes;
use futures_util::Stream;
use std::pin::Pin;
use std::string::FromUtf8Error;
use std::task::{Context, Poll, ready};

/// The lines of a body that are not blank.
pub(super) struct Lines {
    body: LimitedBody,
    /// Bytes that were read, but not searched for the end of a line.
    rest: Bytes,
    /// The beginning of a line whose end has not arrived.
    partial: Vec<u8>,
}

/// The error that ends the lines.
pub(super) enum LineError {
    Body(BodyError),
    NotUtf8(FromUtf8Error),
}

impl Lines {
    pub(super) fn new(body: LimitedBody) -> Self {
        Self { body, rest: Bytes::new(), partial: Vec::new() }
    }

    /// Polls the next line that is not blank. A line without an end is dropped; [`LimitedBody`] ends the last
    /// line.
    pub(super) fn poll_next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<String, LineError>>> {
        loop {
            while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line = self.rest.split_to(end + 1);
                let mut line_bytes = std::mem::take(&mut self.partial);
                line_bytes.extend_from_slice(&line);
                if !line_bytes.trim_ascii().is_empty() {
                    return Poll::Ready(Some(
                        String::from_utf8(line_bytes).map_err(LineError::NotUtf8),
                    ));
                }
            }
            self.partial.extend_from_slice(&std::mem::take(&mut self.rest));
            match ready!(Pin::new(&mut self.body).poll_next(context)) {
                Some(Ok(chunk)) => self.rest = chunk,
                Some(Err(error)) => return Poll::Ready(Some(Err(LineError::Body(error)))),
                None => return Poll::Ready(None),
            }
        }
    }
}
