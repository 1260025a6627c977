//! JSON lines: one document a line, nothing around it.

use super::limited_body::LimitedBody;
use crate::http::body::Broken;
use bytes::Bytes;
use futures_util::Stream;
use std::pin::Pin;
use std::string::FromUtf8Error;
use std::task::{Context, Poll, ready};

/// The lines of a body that are not blank.
pub(super) struct Lines {
    pieces: LimitedBody,
    /// What was read but not looked at yet.
    rest: Bytes,
    /// The beginning of a line of which the end has not come.
    begun: Vec<u8>,
}

/// Why there is no further line.
pub(super) enum Wrong {
    Broken(Broken),
    NotUtf8(FromUtf8Error),
}

impl Lines {
    pub(super) fn new(pieces: LimitedBody) -> Self {
        Self { pieces, rest: Bytes::new(), begun: Vec::new() }
    }

    pub(super) fn poll_next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<String, Wrong>>> {
        loop {
            while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line = self.rest.split_to(end + 1);
                let mut whole = std::mem::take(&mut self.begun);
                whole.extend_from_slice(&line);
                if !whole.trim_ascii().is_empty() {
                    return Poll::Ready(Some(String::from_utf8(whole).map_err(Wrong::NotUtf8)));
                }
            }
            self.begun.extend_from_slice(&std::mem::take(&mut self.rest));
            match ready!(Pin::new(&mut self.pieces).poll_next(context)) {
                Some(Ok(piece)) => self.rest = piece,
                Some(Err(broken)) => return Poll::Ready(Some(Err(Wrong::Broken(broken)))),
                None => return Poll::Ready(None),
            }
        }
    }
}
