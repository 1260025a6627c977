//! Streamed answers.
//!
//! [`LimitedBody`] reads the body within limits of size and time, `sse-stream` or [`Lines`] finds its
//! events, and [`Events`] maps errors to [`Error`].

mod document_detection;
mod idle_timeout;
#[cfg(any(test, feature = "_fuzzing"))]
pub(crate) mod in_memory;
mod limited_body;
mod lines;

#[cfg(test)]
mod tests;

pub(super) use document_detection::open;

use super::body::BodyError;
use super::{Answer, AttemptTimeout};
use ai_services_core::{BoxError, Error, ErrorKind};
use futures_util::Stream as _;
use limited_body::{LimitedBody, Meter};
use lines::Lines;
use reqwest::Body;
use sse_stream::SseByteStream;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// The separation of the events of a stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Framing {
    /// Server-sent events.
    Events,
    /// JSON documents, one per line.
    Lines,
}

/// The answer to a request for events.
pub(crate) enum Streamed {
    Events(Box<Events>),
    /// One document instead: an error, or the whole answer of a server that does not stream.
    Whole(Answer),
}

/// One event of a stream.
#[derive(Debug, PartialEq)]
pub(crate) struct Event {
    pub(crate) data: String,
    /// `true` if the type of the event is `error`.
    pub(crate) is_error: bool,
}

/// The events of an answer. Dropping them before the end of the answer closes the connection.
pub(crate) struct Events {
    source: Source,
    meter: Arc<Meter>,
    answer: Answer,
    timeout: AttemptTimeout,
}

enum Source {
    Events(SseByteStream<LimitedBody>),
    Lines(Lines),
}

/// The error that ends the events.
enum ReadError {
    Body(BodyError),
    NotUtf8(BoxError),
    Other(BoxError),
}

impl Events {
    /// Creates the events of `body`.
    fn new(body: Body, answer: Answer, framing: Framing, timeout: AttemptTimeout) -> Self {
        let limited = LimitedBody::new(body, &answer.settings.limits);
        let meter = limited.meter();
        let source = match framing {
            Framing::Events => Source::Events(SseByteStream::new(limited)),
            Framing::Lines => Source::Lines(Lines::new(limited)),
        };
        Self { source, meter, answer, timeout }
    }

    /// Polls the next event that has data; `None` at the end of the body. An error is the last item.
    pub(crate) fn poll_next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Event, Error>>> {
        loop {
            let event = match ready!(self.source.poll_next(context)) {
                Some(Ok(event)) => event,
                Some(Err(error)) => return Poll::Ready(Some(Err(self.map_error(error)))),
                None => return Poll::Ready(None),
            };
            self.meter.complete_event();
            if let Some(event) = event {
                return Poll::Ready(Some(Ok(event)));
            }
        }
    }

    /// Reads the rest of the body, so that its connection can be reused. Ready at the end of the body, after
    /// an error, or if 16 more events arrive at once.
    pub(crate) fn poll_end(&mut self, context: &mut Context<'_>) -> Poll<()> {
        const MAX_EVENTS: usize = 16;
        for _ in 0..MAX_EVENTS {
            match ready!(self.source.poll_next(context)) {
                Some(Ok(_)) => {}
                Some(Err(_)) | None => break,
            }
        }
        Poll::Ready(())
    }

    /// Returns the number of times that the request was sent.
    pub(crate) fn attempts(&self) -> u32 {
        self.answer.attempts
    }

    /// Returns the error of an answer that ended before it was complete.
    pub(crate) fn cut_off(&self) -> Error {
        self.answer.annotate(Error::new(ErrorKind::InvalidResponse, "the answer was cut off"))
    }

    /// Returns the error of an event that the protocol does not allow. At the end of the body, the event
    /// counts as truncated.
    pub(crate) fn invalid(&self, error: Error) -> Error {
        if self.meter.has_ended() { self.cut_off() } else { self.answer.annotate(error) }
    }

    /// Returns the error of an event that is not the expected JSON.
    pub(crate) fn unreadable(&self, error: serde_json::Error) -> Error {
        self.invalid(self.answer.unreadable_part(error))
    }

    /// Adds the status, the number of attempts and the request id to an error.
    pub(crate) fn annotate(&self, error: Error) -> Error {
        self.answer.annotate(error)
    }

    /// Returns the error that an event reports.
    pub(crate) fn reported_in(&self, data: &str) -> Error {
        self.answer.reported_in(data.as_bytes())
    }

    /// Maps the error that ends the events.
    fn map_error(&self, error: ReadError) -> Error {
        let error = match error {
            ReadError::Body(error) => error.into_error(&self.answer.settings.limits, self.timeout),
            ReadError::Other(other) => {
                Error::new(ErrorKind::Connection, "the answer was cut off").with_source(other)
            }
            ReadError::NotUtf8(source) => {
                let error = Error::new(ErrorKind::InvalidResponse, "the answer is not UTF-8");
                return self.invalid(error.with_source(source));
            }
        };
        self.answer.annotate(error)
    }
}

impl Source {
    /// Polls the next event; `None` in place of an event without data.
    fn poll_next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Option<Event>, ReadError>>> {
        match self {
            Self::Events(events) => Pin::new(events).poll_next(context).map(|event| {
                Some(event?.map_err(ReadError::from).map(|event| {
                    let is_error = event.event.as_deref() == Some("error");
                    event.data.map(|data| Event { data, is_error })
                }))
            }),
            Self::Lines(lines) => lines.poll_next(context).map(|line| {
                let event = |data| Some(Event { data, is_error: false });
                Some(line?.map(event).map_err(ReadError::from))
            }),
        }
    }
}

impl From<sse_stream::Error> for ReadError {
    fn from(error: sse_stream::Error) -> Self {
        match error {
            sse_stream::Error::Body(error) => match error.downcast::<BodyError>() {
                Ok(error) => Self::Body(*error),
                Err(other) => Self::Other(other),
            },
            error => Self::NotUtf8(error.into()),
        }
    }
}

impl From<lines::LineError> for ReadError {
    fn from(error: lines::LineError) -> Self {
        match error {
            lines::LineError::Body(error) => Self::Body(error),
            // The inner error, because the outer one has the bytes of the line.
            lines::LineError::NotUtf8(source) => Self::NotUtf8(source.utf8_error().into()),
        }
    }
}
