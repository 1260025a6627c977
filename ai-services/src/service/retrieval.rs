//! Retrieval for one call.

use super::call::ServiceCall;
use super::guardrail_context::GuardrailContext;
use super::stream::StreamItem;
use crate::Result;
use crate::TurnContext;
use crate::event::Event;
use crate::message::UserMessage;
use crate::rag::Retrieved;
use ai_services_core::trace::{StepSpan, count};
use tracing::field;

/// Retrieves content for the user message, if the method uses a retriever.
pub(super) async fn retrieve(call: &ServiceCall, turn: TurnContext) -> Result<GuardrailContext> {
    let Some(augmentor) = &call.plan.augmentor else {
        return Ok(GuardrailContext::new(turn, Retrieved::default()));
    };
    let span = tracing::info_span!(
        "retrieve",
        otel.name = %"retrieve",
        otel.status_code = field::Empty,
        gen_ai.conversation.id = field::Empty,
        ai_services.retrieval.contents = field::Empty,
        ai_services.retrieval.skipped = field::Empty,
        error.r#type = field::Empty,
    );
    let mut step = StepSpan::new(span);
    let outcome = step.run(augmentor.retrieve(&turn)).await;
    step.end(&outcome);
    let retrieved = outcome?;
    step.span().record("ai_services.retrieval.contents", count(retrieved.contents.len()));
    step.span().record("ai_services.retrieval.skipped", count(retrieved.skipped.len()));
    let (contents, skipped) = (&retrieved.contents, &retrieved.skipped);
    call.emit_in(step.span(), &Event::Retrieved { contents, skipped });
    if let Some(queue) = call.delivery.queue() {
        queue.announce(StreamItem::Retrieved(retrieved.contents.clone()));
    }
    Ok(GuardrailContext::new(turn, retrieved))
}

/// Returns the message with the retrieved content, if there is any.
pub(super) fn augment(
    call: &ServiceCall,
    message: &UserMessage,
    context: &GuardrailContext,
) -> Result<Option<UserMessage>> {
    match (&call.plan.augmentor, context.contents()) {
        (None, _) | (_, []) => Ok(None),
        (Some(augmentor), contents) => augmentor.inject(message, contents).map(Some),
    }
}
