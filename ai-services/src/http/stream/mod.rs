//! An answer that comes event by event.
//!
//! [`Pieces`] takes the body apart under limits of size and time, `sse-stream` finds the events in
//! it, [`Events`] turns what goes wrong into the crate's error.

#[cfg(any(test, feature = "_fuzzing"))]
pub(crate) mod given;
mod opening;
mod pieces;
mod silence;

#[cfg(test)]
mod tests;

pub(super) use opening::open;

use super::body::Broken;
use super::{Answer, Ends, Limits, fault};
use crate::error::{Error, ErrorKind};
use pieces::{Meter, Pieces};
use reqwest::Body;
use reqwest::header::HeaderMap;
use sse_stream::SseByteStream;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// What a server sends that is asked for events.
pub(crate) enum Streamed<'a> {
    Events(Box<Events<'a>>),
    /// One document instead: an error, or the whole answer of a server that does not stream.
    Whole(Answer),
}

/// One event of a stream.
#[derive(Debug, PartialEq)]
pub(crate) struct Event {
    pub(crate) data: String,
    /// Whether the server calls it `error`.
    pub(crate) is_error: bool,
}

/// The events of an answer. Dropping it closes the connection, unless the answer had ended.
pub(crate) struct Events<'a> {
    events: SseByteStream<Pieces>,
    meter: Arc<Meter>,
    answer: Answer,
    limits: &'a Limits,
    secrets: &'a HeaderMap,
    ends: Ends,
}

impl<'a> Events<'a> {
    /// The events in `body`. Values of `secrets` that are marked as sensitive appear in no error.
    fn new(
        body: Body,
        answer: Answer,
        limits: &'a Limits,
        secrets: &'a HeaderMap,
        ends: Ends,
    ) -> Self {
        let pieces = Pieces::new(body, limits);
        let meter = pieces.meter();
        Self { events: SseByteStream::new(pieces), meter, answer, limits, secrets, ends }
    }

    /// The next event that has data; `None` at the end of the body. An error is the last item.
    pub(crate) fn poll_next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Event, Error>>> {
        loop {
            let event = match ready!(poll(&mut self.events, context)) {
                Some(Ok(event)) => event,
                Some(Err(error)) => return Poll::Ready(Some(Err(self.broken(error)))),
                None => return Poll::Ready(None),
            };
            self.meter.event();
            if let Some(data) = event.data {
                let is_error = event.event.as_deref() == Some("error");
                return Poll::Ready(Some(Ok(Event { data, is_error })));
            }
        }
    }

    /// Reads what follows the last event of interest. Ready when the body has ended, so that its
    /// connection can be used again, or is not worth waiting for.
    pub(crate) fn poll_end(&mut self, context: &mut Context<'_>) -> Poll<()> {
        const MAX_EVENTS: usize = 16;
        for _ in 0..MAX_EVENTS {
            match ready!(poll(&mut self.events, context)) {
                Some(Ok(_)) => {}
                Some(Err(_)) | None => break,
            }
        }
        Poll::Ready(())
    }

    /// How many times the request was sent.
    pub(crate) fn attempts(&self) -> u32 {
        self.answer.attempts
    }

    /// The error for an answer that ended before it was complete.
    pub(crate) fn cut_off(&self) -> Error {
        self.answer.annotate(Error::new(ErrorKind::InvalidResponse, "the answer was cut off"))
    }

    /// The error for an event that the protocol does not allow: at the end of the body it is the
    /// rest of one that was cut off.
    pub(crate) fn invalid(&self, error: Error) -> Error {
        if self.meter.has_ended() { self.cut_off() } else { self.answer.annotate(error) }
    }

    /// The error that an event consists of.
    pub(crate) fn error_in(&self, data: &str) -> Error {
        self.answer.annotate(fault::error_in_body(data.as_bytes(), self.secrets))
    }

    fn broken(&self, error: sse_stream::Error) -> Error {
        let error = match error {
            sse_stream::Error::Body(broken) => match broken.downcast::<Broken>() {
                Ok(broken) => broken.into_error(self.limits, self.ends),
                Err(other) => {
                    Error::new(ErrorKind::Connection, "the answer was cut off").with_source(other)
                }
            },
            wrong => {
                let error = Error::new(ErrorKind::InvalidResponse, "the answer is not UTF-8");
                return self.invalid(error.with_source(wrong));
            }
        };
        self.answer.annotate(error)
    }
}

fn poll<S: futures_util::Stream + Unpin>(
    stream: &mut S,
    context: &mut Context<'_>,
) -> Poll<Option<S::Item>> {
    Pin::new(stream).poll_next(context)
}
