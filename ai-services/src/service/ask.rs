//! Asking the model, beside the verdict on the user's message.

use super::guards::Chunks;
use super::invocation::Invocation;
use super::moderation::Verdict;
use super::stream::{Listening, listen};
use crate::error::Result;
use crate::event::Event;
use crate::model::{ChatRequest, ChatResponse};
use tracing::{Instrument, Span, field};

/// The model's answer, told while it grows if somebody listens.
pub(super) async fn ask_model(
    invocation: &Invocation<'_>,
    request: &ChatRequest,
    verdict: &mut Verdict<'_>,
) -> Result<ChatResponse> {
    let components = invocation.components;
    // Called through its `Arc`, the model's future would be boxed twice.
    let model = &*components.model;
    let transformed = components.chat_request_transformer.as_ref().map(|f| f(request.clone()));
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
    let answer_tool = invocation.form.answer_tool();
    invocation.emit(&Event::RequestIssued { request });
    let outcome = match invocation.outlet {
        None => verdict
            .beside(model.chat(request).instrument(span.clone()))
            .await
            .and_then(|response| invocation.guards.pass_whole(response, answer_tool)),
        Some(_) => {
            let (outlet, chunks) = (invocation.live_outlet(), Chunks::new(invocation.guards));
            let listening = Listening { outlet, answer_tool, chunks };
            listen(model.stream(request), verdict, listening).instrument(span.clone()).await
        }
    };
    match &outcome {
        Ok(response) => {
            record_response(&span, response);
            invocation.emit(&Event::ResponseReceived { response });
        }
        Err(error) => {
            span.record("error.type", field::debug(error.kind()));
        }
    }
    outcome
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
