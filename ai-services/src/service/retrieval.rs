//! Retrieval for one call: what is found is told to listeners, and put into the message that is sent.

use super::invocation::Invocation;
use super::opening::Background;
use super::stream::Progress;
use crate::error::Result;
use crate::event::Event;
use crate::invocation::TurnContext;
use crate::message::{Content, UserMessage};
use crate::rag::{ContentRetriever, Query, RetrievalAugmentor, Retrieved, RetrievedContent};
use async_trait::async_trait;
use std::sync::Arc;
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

/// The augmentor that a single retriever stands for.
pub(super) fn of_retriever(
    retriever: impl ContentRetriever + 'static,
) -> Arc<dyn RetrievalAugmentor> {
    Arc::new(OneRetriever(retriever))
}

/// Searches for what the user said, in one place.
struct OneRetriever<R>(R);

#[async_trait]
impl<R: ContentRetriever> RetrievalAugmentor for OneRetriever<R> {
    async fn retrieve(&self, turn: &TurnContext) -> Result<Retrieved> {
        match turn.user_message().joined_text() {
            Some(text) => {
                let query = Query::new(&*text, turn.clone());
                self.0.retrieve(&query).await.map(Retrieved::new)
            }
            None => Ok(Retrieved::default()),
        }
    }

    fn inject(&self, message: &UserMessage, contents: &[RetrievedContent]) -> Result<UserMessage> {
        let found: Vec<&str> = contents.iter().map(|content| content.segment.text()).collect();
        let addition = format!("Answer using the following information:\n{}", found.join("\n\n"));
        let mut parts = message.contents().to_vec();
        match parts.iter_mut().find(|part| part.text().is_some()) {
            Some(part) => {
                let text = part.text().unwrap_or_default();
                *part = Content::from(format!("{text}\n\n{addition}"));
            }
            None => parts.push(Content::from(addition)),
        }
        let mut augmented = UserMessage::from_contents(parts);
        if let Some(name) = message.name() {
            augmented = augmented.with_name(name);
        }
        if let Some(attributes) = message.attributes() {
            augmented = augmented.with_attributes(attributes.clone());
        }
        Ok(augmented)
    }
}
