//! One call of the chat model.

use super::call::ServiceCall;
use super::guards::ChunkGuards;
use super::model_relay::{ModelRelay, relay};
use super::moderation::PendingModeration;
use crate::event::Event;
use crate::model::{CachedCopy, ChatRequest, ChatResponse, ModelUsage, UsageMeter};
use crate::{Error, Result, boxed};
use ai_services_core::trace::{
    Delivery, StepSpan, StreamClock, chat_span, record_failure, record_response,
};
use std::pin::pin;

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
    let queue = call.delivery.queue();
    let delivery = if queue.is_some() { Delivery::Stream } else { Delivery::Whole };
    let mut step = StepSpan::new(chat_span(model, request, delivery));
    let answer_tool = plan.output.answer_tool();
    call.emit_in(step.span(), &Event::RequestIssued { request });
    let outcome = if queue.is_none() {
        let chat = async { model.chat(request).await.map(Box::new) };
        let chat = step.run(chat);
        let response = moderation.alongside(pin!(chat)).await;
        let copy = response.as_ref().ok().and_then(|response| response.cached_copy.clone());
        match response.and_then(|response| plan.guards.check_whole(response, answer_tool)) {
            Ok(response) => Ok(response),
            Err(error) => Err(CachedCopy::discard_after(copy, error).await),
        }
    } else {
        let guards = ChunkGuards::new(&plan.guards);
        let clock = StreamClock::start(step.span());
        let target = ModelRelay::new(call.delivery.live(), guards, answer_tool, clock);
        // In a box, because its future is larger than that of the whole rest of a call.
        let relay = boxed(|| relay(model.stream(request), moderation, target));
        step.run(relay).await
    };
    if let Some(outer) = call.meter().outer() {
        count_outside(outer, model.name(), outcome.as_deref());
    }
    match &outcome {
        Ok(response) => {
            record_response(step.span(), model, response);
            call.emit_in(step.span(), &Event::ResponseReceived { response });
        }
        Err(error) => {
            record_failure(step.span(), model, error);
            call.emit_in(step.span(), &Event::RequestFailed { error });
        }
    }
    step.end(&outcome);
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
