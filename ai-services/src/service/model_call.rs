//! One call of the chat model.

use super::call::ServiceCall;
use super::guards::ChunkGuards;
use super::model_relay::{ModelRelay, relay};
use super::moderation::PendingModeration;
use crate::event::Event;
use crate::model::{CachedCopy, ChatRequest, ChatResponse, ModelUsage, UsageMeter};
use crate::{Error, Result, boxed};
use std::pin::pin;
use tracing::{Instrument, Span, field};

/// Sends a request to the chat model and returns its response. If the call has a stream, the response
/// is relayed while it arrives.
///
/// The response is in a box: it has 208 bytes, and passes through each function and future of the call.
pub(super) async fn call_model(
    call: &ServiceCall,
    request: &ChatRequest,
    moderation: &mut PendingModeration<'_>,
) -> Result<Box<ChatResponse>> {
    let (components, plan) = (&*call.components, &*call.plan);
    // A call through the `Arc` would box the model's future twice.
    let model = &*components.model;
    let transformer = components.settings.chat_request_transformer.as_ref();
    let transformed = transformer.map(|transform| transform(request.clone()));
    let request = transformed.as_ref().unwrap_or(request);
    let span = tracing::info_span!(
        "chat",
        otel.name = %format_args!("chat {}", model.name()),
        gen_ai.operation.name = "chat",
        gen_ai.request.model = model.name(),
        gen_ai.response.model = field::Empty,
        gen_ai.response.id = field::Empty,
        gen_ai.response.finish_reasons = field::Empty,
        gen_ai.usage.input_tokens = field::Empty,
        gen_ai.usage.output_tokens = field::Empty,
        error.r#type = field::Empty,
    );
    let answer_tool = plan.output.answer_tool();
    call.emit_in(&span, &Event::RequestIssued { request });
    let outcome = if call.delivery.queue().is_none() {
        let chat = async { model.chat(request).await.map(Box::new) }.instrument(span.clone());
        let response = moderation.alongside(pin!(chat)).await;
        let copy = response.as_ref().ok().and_then(|response| response.cached_copy.clone());
        match response.and_then(|response| plan.guards.check_whole(response, answer_tool)) {
            Ok(response) => Ok(response),
            Err(error) => Err(CachedCopy::discard_after(copy, error).await),
        }
    } else {
        let guards = ChunkGuards::new(&plan.guards);
        let target = ModelRelay::new(call.delivery.live(), guards, answer_tool);
        // In a box, because its future is larger than that of the whole rest of a call.
        let relay = boxed(|| relay(model.stream(request), moderation, target));
        relay.instrument(span.clone()).await
    };
    if let Some(outer) = call.meter().outer() {
        count_outside(outer, model.name(), outcome.as_deref());
    }
    match &outcome {
        Ok(response) => {
            record_response(&span, response);
            call.emit_in(&span, &Event::ResponseReceived { response });
        }
        Err(error) => {
            span.record("error.type", field::debug(error.kind()));
            call.emit_in(&span, &Event::RequestFailed { error });
        }
    }
    outcome
}

/// Adds the tokens of a request to the meter of the call around this call.
fn count_outside(outer: &UsageMeter, model: &str, outcome: Result<&ChatResponse, &Error>) {
    let usages = match outcome {
        Ok(response) => response.usage_by_model(model),
        Err(error) => ModelUsage::of_error(error, model),
    };
    for ModelUsage { model, usage, .. } in usages {
        outer.add(&model, usage);
    }
}

fn record_response(span: &Span, response: &ChatResponse) {
    if span.is_disabled() {
        return;
    }
    span.record("gen_ai.response.model", response.model.as_deref());
    span.record("gen_ai.response.id", response.id.as_deref());
    let reason = response.finish_reason.as_ref().map(|reason| reason.as_str());
    span.record("gen_ai.response.finish_reasons", reason);
    span.record("gen_ai.usage.input_tokens", response.usage.input);
    span.record("gen_ai.usage.output_tokens", response.usage.output);
}
