//! Streams that may still be replaced, because nothing of them was told.

use crate::error::{Error, ErrorKind, Result};
use crate::model::{ChatModel, ChatRequest, FailedAttempt, FailedAttempts, ModelStreamEvent};
use futures_util::stream::{self, BoxStream, StreamExt};

/// The events of a model's stream.
pub(super) type Events<'a> = BoxStream<'a, Result<ModelStreamEvent>>;

/// A stream whose first piece has come.
pub(super) struct Begun<'a> {
    first: ModelStreamEvent,
    rest: Events<'a>,
}

impl<'a> Begun<'a> {
    /// Asks a model, and waits for the first piece. Empty pieces are none.
    pub(super) async fn of(model: &'a dyn ChatModel, request: &'a ChatRequest) -> Result<Self> {
        let mut rest = model.stream(request);
        loop {
            match rest.next().await {
                Some(Ok(ModelStreamEvent::Text(text) | ModelStreamEvent::Thinking(text)))
                    if text.is_empty() => {}
                Some(Ok(first)) => return Ok(Self { first, rest }),
                Some(Err(error)) => return Err(error),
                None => return Err(no_end()),
            }
        }
    }

    /// All events. How they end counts the attempts that failed before `model` was asked.
    pub(super) fn after(self, mut failed: Vec<FailedAttempt>, model: &'a str) -> Events<'a> {
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

/// The stream that `begun` becomes.
pub(super) fn flatten<'a>(
    begun: impl Future<Output = Result<Events<'a>>> + Send + 'a,
) -> Events<'a> {
    let events = async move {
        match begun.await {
            Ok(events) => events,
            Err(error) => stream::iter([Err(error)]).boxed(),
        }
    };
    stream::once(events).flatten().boxed()
}

/// The same events, with the name of the model that answers.
pub(super) fn named<'a>(events: Events<'a>, model: &'a str) -> Events<'a> {
    let name = move |event| match event {
        Ok(ModelStreamEvent::Completed(mut response)) => {
            response.model.get_or_insert_with(|| model.into());
            Ok(ModelStreamEvent::Completed(response))
        }
        event => event,
    };
    events.map(name).boxed()
}

pub(super) fn no_end() -> Error {
    Error::new(ErrorKind::InvalidResponse, "the model's stream ended without an answer")
}
