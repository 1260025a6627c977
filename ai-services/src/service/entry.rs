//! The entry of every generated method.

use super::call::ServiceCall;
use super::components::Components;
use super::description::{Arguments, Method};
use super::handle::AiService;
use super::invoke::invoke;
use super::response::{MethodReturn, PendingReply, Reply};
use super::stream::{AnswerStream, EventQueue, StreamReturn};
use crate::memory::MemoryId;
use crate::model::TokenUsage;
use crate::{Error, Result, boxed};
use ai_services_core::answer::Returned;
use futures_util::future::BoxFuture;
use std::convert::identity;
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
    Box::pin(respond(call, span, R::from_result))
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
    let outcome = Box::pin(respond(call, span, identity));
    R::from_stream(AnswerStream::of_call(queue, outcome, shape))
}

/// Runs a call within its span, and converts its outcome.
///
/// The only part of a call that is compiled for each type of answer.
#[allow(clippy::manual_async_fn, reason = "an `async fn` would hold the call twice")]
fn respond<V: Returned, R>(
    call: Result<ServiceCall>,
    span: Span,
    convert: impl FnOnce(Result<V>) -> R,
) -> impl Future<Output = R> {
    async move {
        let mut reply = PendingReply::<V>::new();
        let outcome = match &call {
            // In a box of its own: this future, which contains the call, moves into a box, too.
            Ok(call) => boxed(|| invoke(call, &mut reply)).instrument(span.clone()).await,
            Err(_) => Ok(()),
        };
        let outcome = call.and(outcome);
        record(&span, outcome.as_ref().map(|()| reply.usage()));
        convert(match outcome {
            Ok(()) => reply.into_value(),
            Err(error) => match error.detail().and_then(V::from_pending) {
                Some(pending) => Ok(pending),
                None => Err(error),
            },
        })
    }
}

pub(super) fn span(components: &Components, method: &Method, arguments: &Arguments<'_>) -> Span {
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

pub(super) fn record(span: &Span, outcome: Result<TokenUsage, &Error>) {
    if span.is_disabled() {
        return;
    }
    match outcome {
        Ok(usage) => {
            span.record("gen_ai.usage.input_tokens", usage.input);
            span.record("gen_ai.usage.output_tokens", usage.output);
        }
        Err(error) => {
            span.record("error.type", field::debug(error.kind()));
        }
    }
}
