//! The body of a stream, piece by piece, under limits of size and time.

use super::idle_timeout::IdleTimeout;
use crate::http::Limits;
use crate::http::body::Broken;
use bytes::Bytes;
use futures_util::Stream;
use hyper::body::{Body as _, Frame};
use reqwest::Body;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

/// The most bytes of one event, all its lines together.
const MAX_EVENT_BYTES: usize = 4 << 20;

/// Some servers end without the empty line that completes the last event.
const LAST_LINE_ENDS: &[u8] = b"\n\n";

/// A body that is not read ahead: what nobody asks for stays with the server.
pub(super) struct LimitedBody {
    body: Body,
    /// What came but would make an event too large, if it belongs to it.
    held: Bytes,
    left: usize,
    max: usize,
    silence: IdleTimeout,
    meter: Arc<Meter>,
}

/// What the parser of events has taken since the last event, and whether that was all.
///
/// Shared because the parser owns the pieces. Never used by two threads at once, so nothing needs
/// an order.
#[derive(Default)]
pub(super) struct Meter {
    pending: AtomicUsize,
    has_ended: AtomicBool,
}

impl Meter {
    /// An event was complete.
    pub(super) fn event(&self) {
        self.pending.store(0, Ordering::Relaxed);
    }

    /// Whether the body has ended.
    pub(super) fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Relaxed)
    }
}

impl LimitedBody {
    pub(super) fn new(body: Body, limits: &Limits) -> Self {
        Self {
            body,
            held: Bytes::new(),
            left: limits.max_stream_bytes,
            max: limits.max_stream_bytes,
            silence: IdleTimeout::new(limits.stream_idle_timeout),
            meter: Arc::default(),
        }
    }

    pub(super) fn meter(&self) -> Arc<Meter> {
        Arc::clone(&self.meter)
    }

    /// Hands on as much of a piece as one event may still have. The rest is handed on only if that
    /// completed an event.
    fn admit(&mut self, mut piece: Bytes) -> Result<Bytes, Broken> {
        let pending = self.meter.pending.load(Ordering::Relaxed);
        let room = MAX_EVENT_BYTES.saturating_sub(pending);
        if room == 0 {
            return Err(Broken::EventTooLarge(MAX_EVENT_BYTES));
        }
        if piece.len() > room {
            self.held = piece.split_off(room);
        }
        self.meter.pending.store(pending + piece.len(), Ordering::Relaxed);
        Ok(piece)
    }
}

impl LimitedBody {
    /// The next bytes of the body, which are not empty.
    fn poll_body(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Broken>>> {
        loop {
            // The body comes first: while it has something, no time can run out.
            let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) else {
                return self.silence.poll(context).map(|broken| Some(Err(broken)));
            };
            self.silence.end();
            match frame.map(|frame| frame.map(Frame::into_data)) {
                Some(Ok(Ok(piece))) if !piece.is_empty() => return Poll::Ready(Some(Ok(piece))),
                // Trailers say nothing that matters.
                Some(Ok(_)) => {}
                Some(Err(error)) => return Poll::Ready(Some(Err(Broken::Connection(error)))),
                None => return Poll::Ready(None),
            }
        }
    }
}

impl Stream for LimitedBody {
    type Item = Result<Bytes, Broken>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        if !this.held.is_empty() {
            let held = std::mem::take(&mut this.held);
            return Poll::Ready(Some(this.admit(held)));
        }
        if this.meter.has_ended() {
            return Poll::Ready(None);
        }
        let piece = match ready!(this.poll_body(context)) {
            Some(Ok(piece)) => piece,
            Some(Err(broken)) => return Poll::Ready(Some(Err(broken))),
            None => {
                this.meter.has_ended.store(true, Ordering::Relaxed);
                return Poll::Ready(Some(Ok(Bytes::from_static(LAST_LINE_ENDS))));
            }
        };
        let Some(left) = this.left.checked_sub(piece.len()) else {
            return Poll::Ready(Some(Err(Broken::TooLarge(this.max))));
        };
        this.left = left;
        Poll::Ready(Some(this.admit(piece)))
    }
}
