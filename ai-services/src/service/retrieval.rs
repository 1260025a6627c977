//! Retrieval for one call: what is found is told to listeners, and put into the message that is sent.

use super::invocation::Invocation;
use super::opening::Background;
use super::stream::Progress;
use crate::error::Result;
use crate::event::Event;
use crate::invocation::TurnContext;
use crate::message::UserMessage;
use crate::rag::Retrieved;
use tracing::{Instrument, field};

/// What fits what the user said, if somebody looks for it.
pub(super) async fn retrieve(invocation: &Invocation<'_>, turn: TurnContext) -> Result<Background> {
    let Some(augmentor) = &invocation.components.augmentor else {
        return Ok(Background::new(turn, Retrieved::default()));
    };
    let span = tracing::info_span!(
        "retrieve",
        otel.name = %"retrieve",
        ai_services.retrieval.contents = field::Empty,
        ai_services.retrieval.skipped = field::Empty,
        error.r#type = field::Empty,
    );
    let outcome = augmentor.retrieve(&turn).instrument(span.clone()).await;
    let retrieved = outcome.inspect_err(|error| {
        span.record("error.type", field::debug(error.kind()));
    })?;
    span.record("ai_services.retrieval.contents", retrieved.contents.len());
    span.record("ai_services.retrieval.skipped", retrieved.skipped.len());
    invocation
        .emit(&Event::Retrieved { contents: &retrieved.contents, skipped: &retrieved.skipped });
    if let Some(outlet) = invocation.outlet {
        outlet.announce(Progress::Retrieved(retrieved.contents.clone()));
    }
    Ok(Background::new(turn, retrieved))
}

/// The message with what was found for it, if anything was.
pub(super) fn inject(
    invocation: &Invocation<'_>,
    user: &UserMessage,
    background: &Background,
) -> Result<Option<UserMessage>> {
    match (&invocation.components.augmentor, &*background.retrieved.contents) {
        (None, _) | (_, []) => Ok(None),
        (Some(augmentor), contents) => augmentor.inject(user, contents).map(Some),
    }
}
