//! A running answer, and its way into a response.

use crate::frames::Frames;
use crate::problem::Problem;
use ai_services_core::answer::{Response, StreamEvent};
use ai_services_core::{Error, Result};
use axum::body::Body;
use axum::response::IntoResponse;
use futures_util::future::FutureExt;
use futures_util::stream::{self, BoxStream, StreamExt};
use http::{HeaderValue, header};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::{Instant, sleep, sleep_until};

/// The events of a call.
pub(crate) type Events = BoxStream<'static, Result<StreamEvent>>;

/// The application's text for an error.
pub(crate) type ErrorMessage = Arc<dyn Fn(&Error) -> Option<String> + Send + Sync>;

/// Time without an event after which a comment keeps the connection alive. Proxies commonly close a connection after
/// 30 to 60 seconds.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Size in bytes from which events are sent without waiting for further ones.
const BATCH: usize = 16 * 1024;

/// Writes the events of a call as events of a protocol. A state machine without I/O.
pub(crate) trait Encoder: Send + 'static {
    /// Writes the beginning of a stream.
    fn begin(&mut self, out: &mut Frames);
    /// Writes an event. After the last one nothing else is written.
    fn event(&mut self, event: StreamEvent, out: &mut Frames);
    /// Writes the end of a call that failed.
    fn failed(&mut self, problem: &Problem, out: &mut Frames);
}

/// Returns the texts of a turn, as a stream delivers them: those before tool calls, then the answer.
pub(crate) fn texts(response: &Response<String>) -> impl Iterator<Item = &str> {
    let earlier = response.intermediate_responses.iter().filter_map(|answer| answer.message.text());
    earlier.chain([&*response.value]).filter(|text| !text.is_empty())
}

/// The phase of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Running,
    /// New connections are refused, answers go on.
    Draining,
    /// Answers end with an error.
    Stopping,
}

/// The cause of the next event of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// A message, whose turn may not have begun.
    Message,
    /// A turn that has begun, or one that waited and was decided.
    OwnTurn,
}

/// A running call. Dropping it cancels the call.
pub(crate) struct RunningAnswer {
    pub(crate) events: Events,
    pub(crate) cause: Cause,
    pub(crate) deadline: Instant,
    pub(crate) phase: watch::Receiver<Phase>,
    pub(crate) error_message: Option<ErrorMessage>,
    /// Counts the answer until it ends.
    pub(crate) _permit: OwnedSemaphorePermit,
}

impl RunningAnswer {
    /// Returns the next event; fails at the end of the time limit, and when the server stops.
    pub(crate) async fn next(&mut self) -> Result<StreamEvent, Problem> {
        let stopping = self.phase.wait_for(|phase| *phase == Phase::Stopping);
        let event = tokio::select! {
            biased;
            event = self.events.next() => event,
            () = sleep_until(self.deadline) => return Err(Problem::timeout()),
            // An error means that the server is gone.
            _ = stopping => return Err(Problem::busy()),
        };
        let cause = std::mem::replace(&mut self.cause, Cause::OwnTurn);
        match event {
            // Each turn has the usage of the model's answer before it waits.
            Some(Ok(StreamEvent::Pending(_))) if cause == Cause::Message => {
                Err(Problem::earlier_turn_waits())
            }
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => Err(self.problem(&error)),
            None => Err(Problem::of_call(&Error::configuration("the events have no end"), None)),
        }
    }

    fn problem(&self, error: &Error) -> Problem {
        tracing::warn!(kind = ?error.kind(), "a call failed");
        Problem::of_call(error, self.error_message.as_ref().and_then(|message| message(error)))
    }

    /// Runs the call to its end.
    pub(crate) async fn complete(mut self) -> Result<Box<Response<String>>, Problem> {
        loop {
            match self.next().await? {
                StreamEvent::Completed(response) => return Ok(response),
                StreamEvent::Pending(pending) => return Err(self.problem(&(*pending).into())),
                _ => {}
            }
        }
    }

    /// Returns the stream of the call as the body of a response. `first` is an event that was read already.
    pub(crate) fn into_response(
        self,
        encoder: impl Encoder,
        first: Option<StreamEvent>,
    ) -> axum::response::Response {
        let mut writer = Writer { answer: Some(self), encoder, frames: Frames::default() };
        writer.encoder.begin(&mut writer.frames);
        if let Some(event) = first {
            writer.write(Ok(event));
        }
        let body = stream::unfold(writer, async |mut writer| {
            let bytes = writer.next().await?;
            Some((Ok::<_, Infallible>(bytes), writer))
        });
        let headers = [
            (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
            (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
            // Keeps nginx from collecting the events.
            (header::HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
        ];
        (headers, Body::from_stream(body)).into_response()
    }
}

/// Writes a call into a body.
struct Writer<E> {
    /// `None` after the last event.
    answer: Option<RunningAnswer>,
    encoder: E,
    frames: Frames,
}

impl<E: Encoder> Writer<E> {
    /// Returns the next bytes: all events that are ready.
    async fn next(&mut self) -> Option<bytes::Bytes> {
        while self.frames.len() < BATCH
            && let Some(answer) = &mut self.answer
        {
            let event = if self.frames.len() > 0 {
                match answer.next().now_or_never() {
                    Some(event) => event,
                    None => break,
                }
            } else {
                tokio::select! {
                    event = answer.next() => event,
                    () = sleep(KEEP_ALIVE) => {
                        self.frames.keep_alive();
                        break;
                    }
                }
            };
            self.write(event);
        }
        self.frames.take()
    }

    fn write(&mut self, event: Result<StreamEvent, Problem>) {
        match event {
            Ok(event) => {
                if matches!(event, StreamEvent::Completed(_) | StreamEvent::Pending(_)) {
                    self.answer = None;
                }
                self.encoder.event(event, &mut self.frames);
            }
            Err(problem) => {
                self.answer = None;
                self.encoder.failed(&problem, &mut self.frames);
            }
        }
    }
}
