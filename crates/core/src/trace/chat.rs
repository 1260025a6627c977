//! The spans of requests to chat models.

use super::step::StepSpan;
use super::stream_clock::StreamClock;
use crate::error::{Error, Result};
use crate::model::{
    AnswerOrigin, ChatModel, ChatRequest, ChatRequestParameters, ChatResponse, ModelStreamEvent,
    ResponseFormat, TokenUsage,
};
use futures_util::stream::{BoxStream, Stream, StreamExt};
use std::pin::Pin;
use std::task::{Context, Poll};
use tracing::{Span, field};

/// The delivery of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// The answer arrives whole.
    Whole,
    /// The answer arrives in pieces.
    Stream,
}

/// Creates the span of a request.
pub fn chat_span(model: &dyn ChatModel, request: &ChatRequest, delivery: Delivery) -> Span {
    let parameters = request.parameters();
    tracing::info_span!(
        "chat",
        otel.name = %format_args!("chat {}", name(model, parameters)),
        otel.kind = "client",
        otel.status_code = field::Empty,
        gen_ai.operation.name = "chat",
        gen_ai.provider.name = model.endpoint().provider,
        gen_ai.conversation.id = field::Empty,
        gen_ai.output.r#type = output_type(parameters),
        gen_ai.request.model = name(model, parameters),
        gen_ai.request.stream = (delivery == Delivery::Stream).then_some(true),
        gen_ai.request.seed = parameters.seed,
        gen_ai.request.top_k = parameters.top_k.map(f64::from),
        gen_ai.request.max_tokens = parameters.max_output_tokens.map(i64::from),
        gen_ai.request.temperature = parameters.temperature,
        gen_ai.request.top_p = parameters.top_p,
        gen_ai.request.frequency_penalty = parameters.frequency_penalty,
        gen_ai.request.presence_penalty = parameters.presence_penalty,
        server.address = model.endpoint().address,
        server.port = model.endpoint().port.map(i64::from),
        gen_ai.response.id = field::Empty,
        gen_ai.response.model = field::Empty,
        gen_ai.response.time_to_first_chunk = field::Empty,
        gen_ai.usage.input_tokens = field::Empty,
        gen_ai.usage.output_tokens = field::Empty,
        gen_ai.usage.cache_read.input_tokens = field::Empty,
        gen_ai.usage.cache_creation.input_tokens = field::Empty,
        gen_ai.usage.reasoning.output_tokens = field::Empty,
        error.r#type = field::Empty,
        ai_services.response.origin = field::Empty,
        ai_services.response.attempts = field::Empty,
        ai_services.response.chunks = field::Empty,
        ai_services.response.streaming_time = field::Empty,
    )
}

/// Returns the name of the model that a request is sent to.
fn name<'a>(model: &'a dyn ChatModel, parameters: &'a ChatRequestParameters) -> &'a str {
    parameters.model.as_deref().unwrap_or_else(|| model.name())
}

fn output_type(parameters: &ChatRequestParameters) -> Option<&'static str> {
    parameters.response_format.as_ref().map(|format| match format {
        ResponseFormat::Text => "text",
        ResponseFormat::JsonObject | ResponseFormat::JsonSchema { .. } => "json",
    })
}

/// Records the attributes of a response. The usage of a model that calls other models is in their spans.
pub fn record_response(span: &Span, model: &dyn ChatModel, response: &ChatResponse) {
    if span.is_disabled() {
        return;
    }
    span.record("gen_ai.response.model", response.model.as_deref());
    span.record("gen_ai.response.id", response.id.as_deref());
    span.record("ai_services.response.attempts", response.attempts.map(i64::from));
    if response.origin == AnswerOrigin::Cache {
        span.record("ai_services.response.origin", "cache");
    } else if !model.endpoint().delegates() {
        record_usage(span, &response.usage);
    }
}

/// Records the usage of a failed request.
pub fn record_failure(span: &Span, model: &dyn ChatModel, error: &Error) {
    if span.is_disabled() || model.endpoint().delegates() {
        return;
    }
    if let Some(usage) = error.usage() {
        record_usage(span, usage);
    }
}

/// Records the counts that a provider reported.
pub fn record_usage(span: &Span, usage: &TokenUsage) {
    let count =
        |number: Option<u64>| number.map(|number| i64::try_from(number).unwrap_or(i64::MAX));
    span.record("gen_ai.usage.input_tokens", count(usage.input));
    span.record("gen_ai.usage.output_tokens", count(usage.output));
    span.record("gen_ai.usage.cache_read.input_tokens", count(usage.cached_input));
    span.record("gen_ai.usage.cache_creation.input_tokens", count(usage.cache_write_input));
    span.record("gen_ai.usage.reasoning.output_tokens", count(usage.reasoning));
}

/// Sends a request within a span of its own.
///
/// # Errors
///
/// Returns the errors of the model.
pub async fn chat(model: &dyn ChatModel, request: &ChatRequest) -> Result<ChatResponse> {
    let span = chat_span(model, request, Delivery::Whole);
    if span.is_disabled() {
        return model.chat(request).await;
    }
    let mut step = StepSpan::new(span);
    let outcome = step.run(model.chat(request)).await;
    record_outcome(&mut step, model, outcome.as_ref());
    outcome
}

fn record_outcome(
    step: &mut StepSpan,
    model: &dyn ChatModel,
    outcome: Result<&ChatResponse, &Error>,
) {
    match outcome {
        Ok(response) => {
            record_response(step.span(), model, response);
            step.succeed();
        }
        Err(error) => {
            record_failure(step.span(), model, error);
            step.fail(&error.kind());
        }
    }
}

/// Streams an answer within a span of its own.
pub fn stream<'a>(
    model: &'a dyn ChatModel,
    request: &'a ChatRequest,
) -> BoxStream<'a, Result<ModelStreamEvent>> {
    let span = chat_span(model, request, Delivery::Stream);
    if span.is_disabled() {
        return model.stream(request);
    }
    let (events, clock) = (model.stream(request), StreamClock::start(&span));
    TracedStream { events, model, step: StepSpan::new(span), clock }.boxed()
}

/// A stream that runs within the span of its request.
struct TracedStream<'a> {
    events: BoxStream<'a, Result<ModelStreamEvent>>,
    model: &'a dyn ChatModel,
    step: StepSpan,
    clock: StreamClock,
}

impl Stream for TracedStream<'_> {
    type Item = Result<ModelStreamEvent>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let polled = this.step.span().in_scope(|| this.events.poll_next_unpin(context));
        if let Poll::Ready(event) = &polled {
            this.clock.observe(event.as_ref());
            match event {
                Some(Ok(ModelStreamEvent::Completed(response))) => {
                    record_outcome(&mut this.step, this.model, Ok(&**response));
                }
                Some(Err(error)) => record_outcome(&mut this.step, this.model, Err(error)),
                Some(Ok(_)) | None => {}
            }
        }
        polled
    }
}
