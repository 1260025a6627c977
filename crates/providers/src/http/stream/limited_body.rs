//! The chunks of a streamed body, under limits of size and time.

use super::idle_timeout::IdleTimeout;
use crate::http::Limits;
use crate::http::body::BodyError;
use bytes::Bytes;
use hyper::body::{Body as _, Frame};
use reqwest::Body;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Added to the end of each body, because some servers omit the empty line that completes the last event.
const LAST_LINE_ENDS: &[u8] = b"\n\n";

/// A body within its limits. The body is read only when polled, for back-pressure.
pub(super) struct LimitedBody {
    body: Body,
    /// Number of bytes that the body may still have.
    left: usize,
    max: usize,
    idle_timeout: IdleTimeout,
    has_ended: bool,
}

impl LimitedBody {
    pub(super) fn new(body: Body, limits: &Limits) -> Self {
        Self {
            body,
            left: limits.max_stream_bytes,
            max: limits.max_stream_bytes,
            idle_timeout: IdleTimeout::new(limits.stream_idle_timeout),
            has_ended: false,
        }
    }

    /// Returns `true` after the end of the body.
    pub(super) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Polls the next chunk that is not empty. The chunk after the last one completes the last event.
    pub(super) fn poll_next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, BodyError>>> {
        if self.has_ended {
            return Poll::Ready(None);
        }
        Poll::Ready(Some(match ready!(self.poll_body(context)) {
            Some(Ok(chunk)) => match self.left.checked_sub(chunk.len()) {
                Some(left) => {
                    self.left = left;
                    Ok(chunk)
                }
                None => Err(BodyError::TooLarge(self.max)),
            },
            Some(Err(error)) => Err(error),
            None => {
                self.has_ended = true;
                Ok(Bytes::from_static(LAST_LINE_ENDS))
            }
        }))
    }

    /// Polls the next chunk that is not empty, and the idle timeout while there is none.
    fn poll_body(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        loop {
            // The body is polled first: while it has data, the timeout cannot pass.
            let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) else {
                return self.idle_timeout.poll(context).map(|error| Some(Err(error)));
            };
            self.idle_timeout.reset();
            match frame.map(|frame| frame.map(Frame::into_data)) {
                Some(Ok(Ok(chunk))) if !chunk.is_empty() => return Poll::Ready(Some(Ok(chunk))),
                // Trailers are ignored.
                Some(Ok(_)) => {}
                Some(Err(error)) => return Poll::Ready(Some(Err(BodyError::Connection(error)))),
                None => return Poll::Ready(None),
            }
        }
    }
}
