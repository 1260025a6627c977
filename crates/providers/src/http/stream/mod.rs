//! An answer that comes event by event.
//!
//! [`LimitedBody`] takes the body apart under limits of size and time, `sse-stream` or [`Lines`] finds the
//! events in it, [`Events`] turns what goes wrong into the crate's error.

mod document_detection;
mod idle_timeout;
#[cfg(any(test, feature = "_fuzzing"))]
pub(crate) mod in_memory;
mod limited_body;
mod lines;

#[cfg(test)]
mod tests;

pub(super) use document_detection::open;

use super::body::Broken;
use super::{Answer, Ends};
use ai_services_core::{BoxError, Error, ErrorKind};
use futures_util::Stream as _;
use limited_body::{LimitedBody, Meter};
use lines::Lines;
use reqwest::Body;
use sse_stream::SseByteStream;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// How a server separates the events of a stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Framing {
    /// Server-sent events.
    Events,
    /// JSON documents, one a line.
    Lines,
}

/// What a server sends that is asked for events.
pub(crate) enum Streamed {
    Events(Box<Events>),
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
pub(crate) struct Events {
    source: Source,
    meter: Arc<Meter>,
    answer: Answer,
    ends: Ends,
}

enum Source {
    Events(SseByteStream<LimitedBody>),
    Lines(Lines),
}

/// Why there is no further event.
enum Wrong {
    Broken(Broken),
    NotUtf8(BoxError),
    Other(BoxError),
}

impl Events {
    /// The events in `body`.
    fn new(body: Body, answer: Answer, framing: Framing, ends: Ends) -> Self {
        let pieces = LimitedBody::new(body, &answer.settings.limits);
        let meter = pieces.meter();
        let source = match framing {
            Framing::Events => Source::Events(SseByteStream::new(pieces)),
            Framing::Lines => Source::Lines(Lines::new(pieces)),
        };
        Self { source, meter, answer, ends }
    }

    /// The next event that has data; `None` at the end of the body. An error is the last item.
    pub(crate) fn poll_next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Event, Error>>> {
        loop {
            let event = match ready!(self.source.poll_next(context)) {
                Some(Ok(event)) => event,
                Some(Err(wrong)) => return Poll::Ready(Some(Err(self.broken(wrong)))),
                None => return Poll::Ready(None),
            };
            self.meter.event();
            if let Some(event) = event {
                return Poll::Ready(Some(Ok(event)));
            }
        }
    }

    /// Reads what follows the last event of interest. Ready when the body has ended, so that its
    /// connection can be used again, or is not worth waiting for.
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

    /// The error for an event that is not the JSON it should be.
    pub(crate) fn unreadable(&self, error: serde_json::Error) -> Error {
        self.invalid(self.answer.unreadable_part(error))
    }

    /// The same error with what is known of the answer.
    pub(crate) fn annotate(&self, error: Error) -> Error {
        self.answer.annotate(error)
    }

    /// The error that an event consists of.
    pub(crate) fn reported_in(&self, data: &str) -> Error {
        self.answer.reported_in(data.as_bytes())
    }

    fn broken(&self, wrong: Wrong) -> Error {
        let error = match wrong {
            Wrong::Broken(broken) => broken.into_error(&self.answer.settings.limits, self.ends),
            Wrong::Other(other) => {
                Error::new(ErrorKind::Connection, "the answer was cut off").with_source(other)
            }
            Wrong::NotUtf8(source) => {
                let error = Error::new(ErrorKind::InvalidResponse, "the answer is not UTF-8");
                return self.invalid(error.with_source(source));
            }
        };
        self.answer.annotate(error)
    }
}

impl Source {
    /// The next event, which may have no data.
    fn poll_next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Option<Event>, Wrong>>> {
        match self {
            Self::Events(events) => Pin::new(events).poll_next(context).map(|event| {
                Some(event?.map_err(Wrong::from).map(|event| {
                    let is_error = event.event.as_deref() == Some("error");
                    event.data.map(|data| Event { data, is_error })
                }))
            }),
            Self::Lines(lines) => lines.poll_next(context).map(|line| {
                let event = |data| Some(Event { data, is_error: false });
                Some(line?.map(event).map_err(Wrong::from))
            }),
        }
    }
}

impl From<sse_stream::Error> for Wrong {
    fn from(error: sse_stream::Error) -> Self {
        match error {
            sse_stream::Error::Body(broken) => match broken.downcast::<Broken>() {
                Ok(broken) => Self::Broken(*broken),
                Err(other) => Self::Other(other),
            },
            wrong => Self::NotUtf8(wrong.into()),
        }
    }
}

impl From<lines::Wrong> for Wrong {
    fn from(wrong: lines::Wrong) -> Self {
        match wrong {
            lines::Wrong::Broken(broken) => Self::Broken(broken),
            // Of the error only what is wrong: it has the line, too.
            lines::Wrong::NotUtf8(source) => Self::NotUtf8(source.utf8_error().into()),
        }
    }
}
