//! The entry of every generated method.

use super::call::ServiceCall;
use super::components::Components;
use super::description::{Arguments, Method};
use super::handle::AiService;
use super::invoke::invoke;
use super::response::{MethodReturn, PendingReply, Reply};
use super::stream::{AnswerStream, EventQueue, StreamReturn};
use crate::approval::PendingTurn;
use crate::model::TokenUsage;
use crate::{Error, Result, boxed};
use ai_services_core::answer::Returned;
use ai_services_core::trace::{StepSpan, record_usage};
use futures_util::future::BoxFuture;
use std::convert::identity;
use std::sync::Arc;
use tracing::{Span, field};

/// Calls a method and waits for the whole answer.
///
/// Renders the prompts immediately. Everything else happens when the future is polled.
pub fn call<'a, R: MethodReturn + 'a>(
    service: &'a AiService,
    method: &'static Method,
    arguments: Arguments<'_>,
) -> BoxFuture<'a, R> {
    let components = service.components();
    let span = span(components, method);
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
    let span = span(components, method);
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
        let (mut reply, mut step) = (PendingReply::<V>::new(), StepSpan::new(span));
        describe(&step, call.as_ref().ok());
        let outcome = match &call {
            // In a box of its own: this future, which contains the call, moves into a box, too.
            Ok(call) => step.run(boxed(|| invoke(call, &mut reply))).await,
            Err(_) => Ok(()),
        };
        let outcome = call.and(outcome);
        record(&mut step, outcome.as_ref().map(|()| reply.usage()));
        convert(match outcome {
            Ok(()) => reply.into_value(),
            Err(error) => match error.detail().and_then(V::from_pending) {
                Some(pending) => Ok(pending),
                None => Err(error),
            },
        })
    }
}

pub(super) fn span(components: &Components, method: &Method) -> Span {
    tracing::info_span!(
        "invoke_agent",
        otel.name = %format_args!("invoke_agent {}", components.name),
        otel.status_code = field::Empty,
        gen_ai.operation.name = "invoke_agent",
        gen_ai.provider.name = components.model.endpoint().provider,
        gen_ai.agent.name = components.name,
        gen_ai.request.model = components.model.name(),
        gen_ai.conversation.id = field::Empty,
        gen_ai.output.r#type = field::Empty,
        gen_ai.usage.input_tokens = field::Empty,
        gen_ai.usage.output_tokens = field::Empty,
        gen_ai.usage.cache_read.input_tokens = field::Empty,
        gen_ai.usage.cache_creation.input_tokens = field::Empty,
        gen_ai.usage.reasoning.output_tokens = field::Empty,
        ai_services.method = method.name,
        ai_services.memory.wait = field::Empty,
        ai_services.suspended = field::Empty,
        error.r#type = field::Empty,
    )
}

/// Records the format of the answer, if it is not free text.
pub(super) fn describe(step: &StepSpan, call: Option<&ServiceCall>) {
    if step.is_open() && call.is_some_and(|call| call.plan.output.shape().schema().is_some()) {
        step.span().record("gen_ai.output.type", "json");
    }
}

/// Records the outcome of a call. A suspended turn has not failed.
pub(super) fn record(step: &mut StepSpan, outcome: Result<TokenUsage, &Error>) {
    if !step.is_open() {
        return;
    }
    match outcome {
        Ok(usage) => {
            record_usage(step.span(), &usage);
            step.succeed();
        }
        Err(error) => {
            if let Some(usage) = error.usage() {
                record_usage(step.span(), usage);
            }
            if error.detail::<PendingTurn>().is_some() {
                step.span().record("ai_services.suspended", true);
                step.succeed();
            } else {
                step.fail(&error.kind());
            }
        }
    }
}
