//! One call of a service, top to bottom.

use super::call::ServiceCall;
use super::history_summary::{HistoryFold, SummaryOutcome};
use super::memory_session::{MemorySession, max_wait};
use super::method_plan::MethodPlan;
use super::moderation::PendingModeration;
use super::preparation::prepare;
use super::prepared_message::PreparedMessage;
use super::response::Reply;
use super::stream::{emit_text, emit_thinking};
use super::tool_events::emit_finished;
use super::tool_loop::ToolLoop;
use super::turn::{AnswerSource, Rules, Turn};
use super::usage_and_cost::UsageAndCost;
use crate::event::Event;
use crate::memory::{CompletedTurn, LeaseToken, RequestId, Snapshot};
use crate::message::{AiMessage, UserMessage};
use crate::model::{ChatRequest, ChatResponse};
use crate::tool::{ToolRequest, Toolbox};
use crate::{Error, ErrorKind, Result};
use std::borrow::Cow;
use std::pin::pin;
use std::sync::Arc;

/// Number of times a turn is replayed because another writer changed the conversation.
const MAX_REPLAYS: u32 = 3;

/// Runs one call. The turn is remembered, and the reply complete, only if the call succeeds.
pub(super) async fn invoke(call: &ServiceCall, reply: &mut dyn Reply) -> Result<()> {
    call.emit(&Event::Started);
    let cancellation = CancelledOnDrop(call);
    let outcome = run_turn(call, reply).await;
    std::mem::forget(cancellation);
    match &outcome {
        Ok(()) => call.emit(&Event::Completed { usage: &reply.usage() }),
        Err(error) => call.emit(&Event::Failed { error }),
    }
    outcome
}

/// Emits [`Event::Cancelled`] if the future of the call is dropped.
struct CancelledOnDrop<'a>(&'a ServiceCall);

impl Drop for CancelledOnDrop<'_> {
    fn drop(&mut self) {
        self.0.emit(&Event::Cancelled);
    }
}

/// Waits for the conversation, then runs the turn.
async fn run_turn(call: &ServiceCall, reply: &mut dyn Reply) -> Result<()> {
    let session = MemorySession::open(call).await?;
    session.run(call, pin!(run_attempts(call, &session, reply))).await
}

/// Attempts the turn until no other writer interferes.
async fn run_attempts(
    call: &ServiceCall,
    session: &MemorySession,
    reply: &mut dyn Reply,
) -> Result<()> {
    let lease = session.lease(call).await?;
    let mut inherited = Inherited::default();
    let mut replays = 0;
    loop {
        let outcome = match &lease {
            None => attempt(call, session, None, &mut inherited, reply).await,
            Some(lease) => {
                let attempt = attempt(call, session, Some(lease.token()), &mut inherited, reply);
                Box::pin(lease.keep(attempt)).await
            }
        };
        match outcome {
            Err(Failure { error, replay: Replay::Allowed }) if replays < MAX_REPLAYS => {
                replays += 1;
                tracing::debug!(%error, replays, "the conversation has changed; replaying the turn");
                if let Some(lease) = &lease {
                    let regained = lease.reacquire(max_wait(call)).await;
                    regained.map_err(|error| inherited.spent.attach_to(error, call.prices()))?;
                }
            }
            Err(failure) => {
                if let Some(lease) = lease {
                    lease.release().await;
                }
                return Err(inherited.spent.attach_to(failure.error, call.prices()));
            }
            Ok(()) => {
                if let Some(lease) = lease {
                    lease.mark_released();
                }
                return Ok(());
            }
        }
    }
}

/// The state that a replay of the turn takes over from the attempts before it.
#[derive(Default)]
struct Inherited {
    spent: UsageAndCost,
    summary: Option<SummaryOutcome>,
}

/// The failure of one attempt at a turn.
struct Failure {
    error: Error,
    replay: Replay,
}

enum Replay {
    Allowed,
    /// The turn had effects, was delivered in part, or would fail again.
    Forbidden,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self { error, replay: Replay::Forbidden }
    }
}

/// Attempts the turn once: load, prepare, converse, read the answer, commit.
async fn attempt(
    call: &ServiceCall,
    session: &MemorySession,
    lease: Option<LeaseToken>,
    inherited: &mut Inherited,
    reply: &mut dyn Reply,
) -> Result<(), Failure> {
    let Inherited { spent, summary } = inherited;
    let mut snapshot = session.load(call).await?;
    let (message, context) = prepare(call, session, &snapshot, spent).await?;
    let toolbox = toolbox(call, message.guarded()).await?;
    let mut request = first_request(call, &snapshot, &toolbox, message.to_send());
    if let Some(summarizer) = session.overflow(&snapshot, &request) {
        let fold = HistoryFold { call, session, summarizer, request: &request };
        snapshot = Box::pin(fold.run(snapshot, summary)).await;
        spent.add_metered(call.meter(), call.prices());
        request.history = snapshot.messages().clone();
    }
    let mut turn = Turn::new(request, rules(call), *spent);

    let tool_loop = ToolLoop {
        call,
        session,
        snapshot: &snapshot,
        toolbox: &toolbox,
        context: context.as_deref(),
    };
    let outcome = accepted_answer(&tool_loop, &message, &mut turn, reply).await;
    turn.add_metered(call.meter());
    *spent = turn.spent();
    let answer = match outcome {
        Ok(answer) => answer,
        Err(error) => return Err(turn.into_unfinished().attach_to(error).into()),
    };

    // A stream that is dropped before its last item must leave the memory unchanged.
    call.delivery.flush().await;
    let was_observed = turn.has_effects() || call.delivery.is_used();
    // The request drops its share of the history, so that the memory can change its list in place.
    let (ChatRequest { system, turn: mut messages, .. }, finished) = turn.finish(answer);
    let remembered = message.to_remember(call.components.settings.remembered);
    if !std::ptr::eq(remembered, message.to_send())
        && let Some(first) = messages.first_mut()
    {
        *first = remembered.clone().into();
    }
    // The context drops its share, too.
    let sources = context.map(|context| context.into_contents()).unwrap_or_default();
    let request = call.context.invocation.get::<RequestId>().cloned();
    let completed =
        CompletedTurn::new(snapshot, system, messages).with_lease(lease).with_request(request);
    match session.commit(completed).await {
        Ok(()) => {
            reply.complete(finished, sources);
            Ok(())
        }
        Err(error) => {
            // Not if the outcome is unknown, or if the request was already committed.
            let has_conflict = error.kind() == ErrorKind::Conflict && error.is_retryable();
            let replay =
                if has_conflict && !was_observed { Replay::Allowed } else { Replay::Forbidden };
            // The answer was paid for, so the error contains it.
            Err(Failure { error: finished.into_unfinished().attach_to(error), replay })
        }
    }
}

/// Runs the turn until an answer passed all checks and was read.
async fn accepted_answer(
    tool_loop: &ToolLoop<'_>,
    message: &PreparedMessage<'_>,
    turn: &mut Turn<'_>,
    reply: &mut dyn Reply,
) -> Result<Box<ChatResponse>> {
    let call = tool_loop.call;
    let mut moderation = PendingModeration::new(call, message.guarded());
    loop {
        let answer = tool_loop.next_answer(turn, &mut moderation).await?;
        match reply.read(&readable(call, &answer), call.plan.output.shape()) {
            Ok(()) => {
                deliver(call, turn, &answer);
                return Ok(answer);
            }
            Err(error) => {
                answer.discard_copy().await?;
                turn.repair(answer, error)?;
                call.delivery.restart();
            }
        }
    }
}

/// Returns an answer as it is read. Some protocols have an empty text where others have none; both are
/// no value.
fn readable<'a>(call: &ServiceCall, answer: &'a ChatResponse) -> Cow<'a, ChatResponse> {
    let is_empty = answer.message.text() == Some("") && answer.message.refusal().is_none();
    if is_empty && call.plan.output.shape().schema().is_some() {
        let message = AiMessage::builder().build();
        return Cow::Owned(ChatResponse { message, ..answer.clone() });
    }
    Cow::Borrowed(answer)
}

/// Adds an accepted answer to the stream, unless its pieces were delivered before.
fn deliver(call: &ServiceCall, turn: &Turn<'_>, answer: &ChatResponse) {
    let Some(queue) = call.delivery.after_check() else { return };
    match turn.answer_source() {
        AnswerSource::Message => {
            emit_thinking(queue, &answer.message);
            emit_text(queue, &answer.message);
        }
        AnswerSource::BesideToolCalls => emit_text(queue, &answer.message),
        AnswerSource::ToolResults => emit_finished(call, turn.last_executions()),
    }
}

fn rules(call: &ServiceCall) -> Rules<'_> {
    let (settings, plan) = (&call.components.settings, &call.plan);
    // Only an answer with a schema can be repaired.
    let output_retries = plan.output.shape().schema().map_or(0, |_| settings.output_retries);
    Rules {
        limits: settings.limits,
        answer_tool: plan.output.answer_tool(),
        output_retries,
        checks_answers: plan.checks_answers,
        check_retries: plan.guards.max_retries(),
        prices: call.prices(),
    }
}

/// Returns the method's tools with those of the tool providers.
async fn toolbox(call: &ServiceCall, user: &UserMessage) -> Result<Arc<Toolbox>> {
    let MethodPlan { tools, output, .. } = &*call.plan;
    if !tools.have_providers() {
        return Ok(Arc::clone(tools.own()));
    }
    let request = ToolRequest::new(user, call.memory_id(), &call.context.invocation);
    let toolbox = Box::pin(tools.of_call(&request)).await?;
    output.check(&toolbox)?;
    Ok(Arc::new(toolbox))
}

fn first_request(
    call: &ServiceCall,
    snapshot: &Snapshot,
    toolbox: &Toolbox,
    user: &UserMessage,
) -> ChatRequest {
    // The usual turn is a message and its answer.
    let mut turn = Vec::with_capacity(2);
    turn.push(user.clone().into());
    ChatRequest {
        system: call.prompts.system.clone().or_else(|| snapshot.system().cloned()),
        history: snapshot.messages().clone(),
        skipped: snapshot.start(),
        turn,
        tools: call.plan.output.specifications(toolbox),
        parameters: Arc::clone(&call.parameters),
        is_retry: false,
    }
}
