//! Streams up to their first event, until which they can still be replaced by another attempt.

use crate::error::{Error, ErrorKind, Result};
use crate::model::{FailedAttempt, FailedAttempts, ModelStreamEvent};
use futures_util::stream::{self, BoxStream, StreamExt};

/// Events of a model's stream.
pub(super) type Events<'a> = BoxStream<'a, Result<ModelStreamEvent>>;

/// A stream that has produced its first event.
pub(super) struct StartedStream<'a> {
    first: ModelStreamEvent,
    rest: Events<'a>,
}

impl<'a> StartedStream<'a> {
    /// Waits for the first event. Empty pieces of text are skipped.
    pub(super) async fn start(mut rest: Events<'a>) -> Result<Self> {
        loop {
            match rest.next().await {
                Some(Ok(ModelStreamEvent::Text(text) | ModelStreamEvent::Thinking(text)))
                    if text.is_empty() => {}
                Some(Ok(first)) => return Ok(Self { first, rest }),
                Some(Err(error)) => return Err(error),
                None => return Err(missing_completion()),
            }
        }
    }

    /// Returns all events. The final answer or error includes the attempts that failed before `model` was
    /// called.
    pub(super) fn into_events(self, mut failed: Vec<FailedAttempt>, model: &'a str) -> Events<'a> {
        let events = stream::iter([Ok(self.first)]).chain(self.rest);
        if failed.is_empty() {
            return events.boxed();
        }
        let count = move |event| match event {
            Ok(ModelStreamEvent::Completed(response)) => {
                Ok(ModelStreamEvent::Completed(Box::new(response.after(&failed, model))))
            }
            Err(error) => {
                let last = FailedAttempt::new(model, error);
                Err(FailedAttempts::into_error(std::mem::take(&mut failed), last))
            }
            Ok(event) => Ok(event),
        };
        events.map(count).boxed()
    }
}

/// Converts a future of a stream into a stream.
pub(super) fn flatten<'a>(
    started: impl Future<Output = Result<Events<'a>>> + Send + 'a,
) -> Events<'a> {
    let events = async move {
        match started.await {
            Ok(events) => events,
            Err(error) => stream::iter([Err(error)]).boxed(),
        }
    };
    stream::once(events).flatten().boxed()
}

/// Sets the name of the model in the answer, unless the answer has one.
pub(super) fn with_model_name<'a>(events: Events<'a>, model: &'a str) -> Events<'a> {
    let name = move |event| match event {
        Ok(ModelStreamEvent::Completed(mut response)) => {
            response.model.get_or_insert_with(|| model.into());
            Ok(ModelStreamEvent::Completed(response))
        }
        event => event,
    };
    events.map(name).boxed()
}

pub(super) fn missing_completion() -> Error {
    Error::new(ErrorKind::InvalidResponse, "the model's stream ended without an answer")
}
