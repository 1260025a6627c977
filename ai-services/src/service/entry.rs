//! The entry of every generated method.

use super::call::ServiceCall;
use super::components::Components;
use super::description::{Arguments, Method};
use super::handle::AiService;
use super::invoke::invoke;
use super::response::{MethodReturn, Response, Returned};
use super::stream::{AnswerStream, EventQueue, StreamReturn};
use crate::Result;
use crate::memory::MemoryId;
use crate::output::Output;
use futures_util::future::{BoxFuture, FutureExt};
use std::sync::Arc;
use tracing::{Instrument, Span, field};

/// Calls a method and waits for the whole answer.
///
/// Renders the prompts immediately. Everything else happens when the future is polled.
pub fn call<'a, R: MethodReturn + 'a>(
    service: &'a AiService,
    method: &'static Method,
    arguments: Arguments<'_>,
) -> BoxFuture<'a, R> {
    let components = service.components();
    let span = span(components, method, &arguments);
    let call = ServiceCall::new(components, method, arguments, None);
    Box::pin(async move {
        let outcome = respond(call).instrument(span.clone()).await;
        record(&span, &outcome);
        R::from_result(outcome.map(R::Value::from_response))
    })
}

/// Calls a method and streams its answer. The stream owns everything that it needs.
///
/// Renders the prompts immediately. Everything else happens when the stream is polled.
pub fn stream<R: StreamReturn>(
    service: &AiService,
    method: &'static Method,
    arguments: Arguments<'_>,
) -> R {
    let components = service.components();
    let span = span(components, method, &arguments);
    let queue = Arc::new(EventQueue::default());
    let call = ServiceCall::new(components, method, arguments, Some(Arc::clone(&queue)));
    let shape = call.as_ref().ok().map(|call| call.plan.output.shape().clone());
    let outcome = async move {
        let outcome = respond::<R::Output>(call).instrument(span.clone()).await;
        record(&span, &outcome);
        outcome
    };
    R::from_stream(AnswerStream::of_call(queue, outcome.boxed(), shape))
}

async fn respond<T: Output>(call: Result<ServiceCall>) -> Result<Response<T>> {
    invoke(&call?).await
}

fn span(components: &Components, method: &Method, arguments: &Arguments<'_>) -> Span {
    tracing::info_span!(
        "invoke_agent",
        otel.name = %format_args!("invoke_agent {}", components.name),
        gen_ai.operation.name = "invoke_agent",
        gen_ai.agent.name = components.name,
        gen_ai.conversation.id = arguments.memory_id.as_ref().map(MemoryId::as_str),
        ai_services.method = method.name,
        gen_ai.usage.input_tokens = field::Empty,
        gen_ai.usage.output_tokens = field::Empty,
        error.r#type = field::Empty,
    )
}

fn record<T>(span: &Span, outcome: &Result<Response<T>>) {
    match outcome {
        Ok(response) => {
            span.record("gen_ai.usage.input_tokens", response.token_usage.input);
            span.record("gen_ai.usage.output_tokens", response.token_usage.output);
        }
        Err(error) => {
            span.record("error.type", field::debug(error.kind()));
        }
    }
}
