//! The chunks of a streamed body, under limits of size and time.

use super::idle_timeout::IdleTimeout;
use crate::http::Limits;
use crate::http::body::BodyError;
use bytes::Bytes;
use futures_util::Stream;
use hyper::body::{Body as _, Frame};
use reqwest::Body;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

/// Maximum size of an event with all its lines, in bytes.
const MAX_EVENT_BYTES: usize = 4 << 20;

/// Added to the end of each body, because some servers omit the empty line that completes the last event.
const LAST_LINE_ENDS: &[u8] = b"\n\n";

/// A body within its limits. The body is read only when polled, for back-pressure.
pub(super) struct LimitedBody {
    body: Body,
    /// Bytes that were read, but exceed the limit of an event if they belong to the pending one.
    overflow: Bytes,
    /// Number of bytes that the body may still have.
    left: usize,
    max: usize,
    idle_timeout: IdleTimeout,
    meter: Arc<Meter>,
}

/// The number of bytes since the last event, and the end of the body.
///
/// Shared because the parser of events owns the body. Never used by two threads at the same time, so
/// relaxed ordering is enough.
#[derive(Default)]
pub(super) struct Meter {
    pending: AtomicUsize,
    has_ended: AtomicBool,
}

impl Meter {
    /// Starts the count of the next event.
    pub(super) fn complete_event(&self) {
        self.pending.store(0, Ordering::Relaxed);
    }

    /// Returns `true` after the end of the body.
    pub(super) fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Relaxed)
    }
}

impl LimitedBody {
    pub(super) fn new(body: Body, limits: &Limits) -> Self {
        Self {
            body,
            overflow: Bytes::new(),
            left: limits.max_stream_bytes,
            max: limits.max_stream_bytes,
            idle_timeout: IdleTimeout::new(limits.stream_idle_timeout),
            meter: Arc::default(),
        }
    }

    pub(super) fn meter(&self) -> Arc<Meter> {
        Arc::clone(&self.meter)
    }

    /// Returns the part of a chunk that the pending event may still have, and stores the rest as overflow.
    ///
    /// The overflow is returned only if the first part completes an event.
    ///
    /// # Errors
    ///
    /// [`BodyError::EventTooLarge`] if the pending event has reached the limit.
    fn admit(&mut self, mut chunk: Bytes) -> Result<Bytes, BodyError> {
        let pending = self.meter.pending.load(Ordering::Relaxed);
        let room = MAX_EVENT_BYTES.saturating_sub(pending);
        if room == 0 {
            return Err(BodyError::EventTooLarge(MAX_EVENT_BYTES));
        }
        if chunk.len() > room {
            self.overflow = chunk.split_off(room);
        }
        self.meter.pending.store(pending + chunk.len(), Ordering::Relaxed);
        Ok(chunk)
    }
}

impl LimitedBody {
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

impl Stream for LimitedBody {
    type Item = Result<Bytes, BodyError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        if !this.overflow.is_empty() {
            let overflow = std::mem::take(&mut this.overflow);
            return Poll::Ready(Some(this.admit(overflow)));
        }
        if this.meter.has_ended() {
            return Poll::Ready(None);
        }
        let chunk = match ready!(this.poll_body(context)) {
            Some(Ok(chunk)) => chunk,
            Some(Err(error)) => return Poll::Ready(Some(Err(error))),
            None => {
                this.meter.has_ended.store(true, Ordering::Relaxed);
                return Poll::Ready(Some(Ok(Bytes::from_static(LAST_LINE_ENDS))));
            }
        };
        let Some(left) = this.left.checked_sub(chunk.len()) else {
            return Poll::Ready(Some(Err(BodyError::TooLarge(this.max))));
        };
        this.left = left;
        Poll::Ready(Some(this.admit(chunk)))
    }
}
