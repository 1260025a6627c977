//! Streamed answers.
//!
//! [`LimitedBody`] reads the body within limits of size and time, [`EventParser`] finds its events, and
//! [`Events`] maps errors to [`Error`].

mod document_detection;
mod event_parser;
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
use ai_services_core::{Error, ErrorKind};
use event_parser::{EventParser, FramingError, MAX_EVENT_BYTES};
use limited_body::LimitedBody;
use reqwest::Body;
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
pub(crate) struct Event<'a> {
    pub(crate) data: &'a str,
    /// `true` if the type of the event is `error`.
    pub(crate) is_error: bool,
}

/// The events of an answer. Dropping them before the end of the answer closes the connection.
pub(crate) struct Events {
    body: LimitedBody,
    parser: EventParser,
    answer: Answer,
    timeout: AttemptTimeout,
    has_failed: bool,
}

/// The error that ends the events.
enum ReadError {
    Body(BodyError),
    Framing(FramingError),
}

impl Events {
    /// Creates the events of `body`.
    fn new(body: Body, answer: Answer, framing: Framing, timeout: AttemptTimeout) -> Self {
        let body = LimitedBody::new(body, &answer.settings.limits);
        Self { body, parser: EventParser::new(framing), answer, timeout, has_failed: false }
    }

    /// Polls the next event that has data, which is then returned by [`event`](Self::event); `None` at the
    /// end of the body and after an error.
    pub(crate) fn poll_next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<(), Error>>> {
        if self.has_failed {
            return Poll::Ready(None);
        }
        Poll::Ready(match ready!(self.poll_event(context)) {
            Some(Err(error)) => {
                self.has_failed = true;
                Some(Err(self.map_error(error)))
            }
            Some(Ok(())) => Some(Ok(())),
            None => None,
        })
    }

    fn poll_event(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<(), ReadError>>> {
        loop {
            match self.parser.advance() {
                Ok(true) => return Poll::Ready(Some(Ok(()))),
                Ok(false) => {}
                Err(error) => return Poll::Ready(Some(Err(ReadError::Framing(error)))),
            }
            match ready!(self.body.poll_next(context)) {
                Some(Ok(chunk)) => self.parser.push(chunk),
                Some(Err(error)) => return Poll::Ready(Some(Err(ReadError::Body(error)))),
                None => return Poll::Ready(None),
            }
        }
    }

    /// Returns the event that was polled last.
    pub(crate) fn event(&self) -> Event<'_> {
        self.parser.event()
    }

    /// Reads the rest of the body, so that its connection can be reused. Ready at the end of the body, after
    /// an error, or if 16 more events arrive at once.
    pub(crate) fn poll_end(&mut self, context: &mut Context<'_>) -> Poll<()> {
        const MAX_EVENTS: usize = 16;
        for _ in 0..MAX_EVENTS {
            match ready!(self.poll_event(context)) {
                Some(Ok(())) => {}
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
        if self.body.has_ended() { self.cut_off() } else { self.answer.annotate(error) }
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
            ReadError::Framing(FramingError::NotUtf8(source)) => {
                let error = Error::new(ErrorKind::InvalidResponse, "the answer is not UTF-8");
                return self.invalid(error.with_source(source));
            }
            ReadError::Framing(FramingError::TooLarge) => BodyError::EventTooLarge(MAX_EVENT_BYTES),
            ReadError::Body(error) => error,
        };
        self.answer.annotate(error.into_error(&self.answer.settings.limits, self.timeout))
    }
}
