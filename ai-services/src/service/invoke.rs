//! One call of a service, top to bottom.

use super::budget::Budgets;
use super::call::ServiceCall;
use super::durable::{JournaledTurn, TurnLog};
use super::history_summary::fold_overflow;
use super::inherited::Inherited;
use super::memory_session::{Ended, MemorySession, end_lease, max_wait};
use super::moderation::PendingModeration;
use super::observed_call::ObservedCall;
use super::offered_tools::OfferedTools;
use super::open_turn;
use super::preparation::{prepare, restore};
use super::prepared_message::PreparedMessage;
use super::repeated_request::repeat;
use super::response::Reply;
use super::resumed_turn::ResumedReply;
use super::stream::{emit_text, emit_thinking};
use super::tool_events::emit_finished;
use super::tool_loop::ToolLoop;
use super::turn::{Account, AnswerSource, Rules, Turn};
use super::unfinished_turn::UnfinishedTurn;
use crate::event::Event;
use crate::memory::{
    CompletedTurn, JournalPosition, Lease, LeaseToken, Snapshot, TurnId, mark_found_tools,
};
use crate::message::{AiMessage, ChatMessage, UserMessage};
use crate::model::{ChatRequest, ChatResponse};
use crate::tool::Toolbox;
use crate::{Error, ErrorKind, Result, boxed};
use ai_services_core::trace::start_time;
use std::borrow::Cow;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::Instant;
use tracing::Span;

/// Number of times a turn is replayed because another writer changed the conversation.
const MAX_REPLAYS: u32 = 3;

/// Runs one call. The turn is remembered, and the reply complete, only if the call succeeds.
pub(super) async fn invoke(call: &ServiceCall, reply: &mut dyn Reply) -> Result<()> {
    let observed = ObservedCall::start(call);
    let outcome = run_turn(call, reply).await;
    observed.end(&outcome, reply);
    outcome
}

/// Waits for the conversation, then runs the turn.
async fn run_turn(call: &ServiceCall, reply: &mut dyn Reply) -> Result<()> {
    let (components, id) = (&call.components, call.memory_id());
    let policy = components.settings.concurrent_calls;
    let waiting = start_time();
    let session = MemorySession::open(components, id, call.plan.method.name, policy).await?;
    session.run(components, id, pin!(run_attempts(call, &session, waiting, reply))).await
}

/// Waits for the lease of the conversation, then attempts the turn until no other writer interferes.
async fn run_attempts(
    call: &ServiceCall,
    session: &MemorySession,
    waiting: Option<Instant>,
    reply: &mut dyn Reply,
) -> Result<()> {
    let lease = session.lease(max_wait(call.components.settings.concurrent_calls)).await?;
    if let Some(since) = waiting {
        Span::current().record("ai_services.memory.wait", since.elapsed().as_secs_f64());
    }
    let ended = attempts(call, session, lease.as_ref(), None, reply).await;
    end_lease(lease, ended.as_ref().ok().copied()).await;
    ended.map(drop)
}

/// Goes on with an open turn until it is stored. This closes its journal and releases the lease.
pub(super) async fn resume(
    call: &ServiceCall,
    session: &MemorySession,
    lease: Option<&Lease>,
    turn: TurnId,
    reply: &mut dyn Reply,
) -> Result<Ended> {
    let observed = ObservedCall::start(call);
    let ended = boxed(|| attempts(call, session, lease, Some(turn), reply)).await;
    observed.end(&ended, reply);
    ended
}

/// Finishes another open turn before the turn of this call.
async fn finish_open_turn(
    call: &ServiceCall,
    session: &MemorySession,
    lease: Option<&Lease>,
    turn: &JournaledTurn,
) -> Result<()> {
    let (id, invocation) = (call.memory_id().cloned(), call.context.invocation.clone());
    let open = ServiceCall::of_open_turn(&call.components, turn.began(), id, invocation, None)?;
    let mut reply = ResumedReply::new(open.plan.check_answer);
    match resume(&open, session, lease, turn.id(), &mut reply).await {
        Err(error) if open_turn::is_final(&error) => {
            let kind = error.kind();
            tracing::warn!(
                ?kind,
                "the open turn of the conversation failed; its journal was deleted"
            );
            Ok(())
        }
        outcome => outcome.map(drop),
    }
}

/// Attempts the turn until no other writer interferes. `open` is the open turn to go on with.
async fn attempts(
    call: &ServiceCall,
    session: &MemorySession,
    lease: Option<&Lease>,
    open: Option<TurnId>,
    reply: &mut dyn Reply,
) -> Result<Ended> {
    let mut inherited = Inherited::new(open);
    loop {
        let outcome = match lease {
            None => attempt(call, session, None, &mut inherited, reply).await,
            Some(lease) => {
                let attempt = attempt(call, session, Some(lease.token()), &mut inherited, reply);
                Box::pin(lease.keep(attempt)).await
            }
        };
        let spent = &inherited.spent;
        match outcome {
            Ok(ended) => return Ok(ended),
            Err(Failure::Conflict(error)) if inherited.replays < MAX_REPLAYS => {
                inherited.replays += 1;
                let (kind, replays) = (error.kind(), inherited.replays);
                tracing::debug!(?kind, replays, "the conversation has changed; replaying the turn");
                call.emit(&Event::TurnReplayed { error: &error });
            }
            Err(Failure::OpenTurn(turn)) if inherited.replays < MAX_REPLAYS => {
                inherited.replays += 1;
                Box::pin(finish_open_turn(call, session, lease, &turn)).await?;
            }
            Err(Failure::OpenTurn(turn)) => return Err(open_turn::blocked(turn.began())),
            Err(Failure::Conflict(error) | Failure::Final(error)) => {
                return Err(spent.attach_to(error, call.prices()));
            }
        }
        if let Some(lease) = lease {
            let limit = max_wait(call.components.settings.concurrent_calls);
            let regained = lease.reacquire(limit).await;
            regained.map_err(|error| spent.attach_to(error, call.prices()))?;
        }
    }
}

/// The failure of one attempt at a turn.
enum Failure {
    /// Another writer has changed the conversation. The turn may be replayed.
    Conflict(Error),
    /// Another turn of the conversation is open, and has to be finished first.
    OpenTurn(Box<JournaledTurn>),
    /// The turn failed, had effects, was delivered in part, or would fail again.
    Final(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Final(error)
    }
}

/// Attempts the turn once: load, prepare, converse, read the answer, commit.
async fn attempt(
    call: &ServiceCall,
    session: &MemorySession,
    lease: Option<LeaseToken>,
    inherited: &mut Inherited,
    reply: &mut dyn Reply,
) -> Result<Ended, Failure> {
    let mut snapshot = session.load(call).await?;
    if call.request_id().is_some() && repeat(call, session, &snapshot, reply).await? {
        return Ok(Ended::Unchanged);
    }
    let start = open_turn::start(call, session, &snapshot, lease, inherited.own_turn).await?;
    // A new turn gets its log with its first tools.
    let mut log = start.map_err(Failure::OpenTurn)?.map_or_else(OnceLock::new, OnceLock::from);
    let resumed = log.get_mut().and_then(|log| log.resumed_turn());
    let Inherited { spent, summary, started, .. } = inherited.begin(call, resumed);
    let conversation = call.conversation_budget(&snapshot)?;
    let budgets = Budgets { call: Some(&call.plan.budget), conversation: conversation.as_deref() };
    let (message, context) = match resumed {
        None => prepare(call, session, &snapshot, budgets, spent).await?,
        Some(turn) => restore(call, session, &snapshot, turn.began()),
    };
    let tools = OfferedTools::new(call, &snapshot, message.guarded()).await?;
    let request = first_request(call, &snapshot, tools.first(), message.to_send());
    let account = Account::new(budgets, call.prices(), *spent, *started);
    let mut turn = Turn::new(request, rules(call), account, resumed.map(JournaledTurn::id));
    fold_overflow(call, session, &mut snapshot, turn.request_mut(), summary).await;

    let tool_loop = ToolLoop {
        call,
        session,
        snapshot: &snapshot,
        tools: &tools,
        message: &message,
        context: context.as_deref(),
        log: &log,
        lease,
    };
    let outcome = accepted_answer(&tool_loop, &mut turn, reply).await;
    *spent = turn.account.close(call.meter());
    let answer = match outcome {
        Ok(answer) => answer,
        Err(error) => {
            let replay = Replay::after_failure(call, &turn, log.get_mut());
            Box::pin(open_turn::abandon(log.into_inner(), &error)).await;
            return Err(replay.after(error, turn.into_unfinished()));
        }
    };

    // A stream that is dropped before its last item must leave the memory unchanged.
    call.delivery.flush().await;
    let journal = log.get_mut().and_then(|log| log.position());
    let replay = Replay::of(call, &turn, journal);
    // The request drops its share of the history, so that the memory can change its list in place.
    let (ChatRequest { system, turn: mut messages, .. }, finished) = turn.finish(answer);
    remember(call, &message, &tools, &mut messages);
    let sum = conversation.map(|conversation| conversation.sum_with(spent)).transpose()?;
    // The context drops its share, too.
    let sources = context.map(|context| context.into_contents()).unwrap_or_default();
    let completed = CompletedTurn::new(snapshot, system, messages)
        .with_lease(lease)
        .with_request(call.request_id().cloned())
        .with_spent(sum.as_deref())
        .with_journal(journal);
    if let Err(error) = session.commit(call, completed, inherited.replays).await {
        inherited.keep_journal(journal);
        Box::pin(open_turn::abandon(log.into_inner(), &error)).await;
        return Err(replay.after(error, finished.into_unfinished()));
    }
    reply.complete(finished, sources);
    Ok(Ended::Stored)
}

/// The reaction to a change of the conversation by another writer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Replay {
    Allowed,
    /// The turn had effects without a journal that replays them, or was delivered in part.
    Forbidden,
}

impl Replay {
    /// Decides about a turn that failed. Only a durable turn that could not open its journal may succeed in a replay: with
    /// an open journal, it would be resumed, and then run again.
    fn after_failure(call: &ServiceCall, turn: &Turn<'_>, log: Option<&mut Box<TurnLog>>) -> Self {
        match log.map(|log| log.position()) {
            Some(None) => Self::of(call, turn, None),
            Some(Some(_)) | None => Self::Forbidden,
        }
    }

    fn of(call: &ServiceCall, turn: &Turn<'_>, journal: Option<JournalPosition>) -> Self {
        let had_effects = turn.has_effects() && journal.is_none();
        if had_effects || call.delivery.is_used() { Self::Forbidden } else { Self::Allowed }
    }

    /// Returns the failure of the attempt. Its work was paid for, so the error contains it.
    fn after(self, error: Error, unfinished: UnfinishedTurn) -> Failure {
        // Not if the outcome is unknown, or if the request was already committed.
        let has_conflict = error.kind() == ErrorKind::Conflict && error.is_retryable();
        let error = unfinished.attach_to(error);
        if has_conflict && self == Self::Allowed {
            Failure::Conflict(error)
        } else {
            Failure::Final(error)
        }
    }
}

/// Replaces the user message that was sent by the one that is remembered, and records the tools that were found.
fn remember(
    call: &ServiceCall,
    message: &PreparedMessage<'_>,
    tools: &OfferedTools,
    messages: &mut [ChatMessage],
) {
    let remembered = message.to_remember(call.components.settings.remembered);
    if !std::ptr::eq(remembered, message.to_send())
        && let Some(first) = messages.first_mut()
    {
        *first = remembered.clone().into();
    }
    if let Some(names) = tools.found(messages) {
        mark_found_tools(messages, &names);
    }
}

/// Runs the turn until an answer passed all checks and was read.
async fn accepted_answer(
    tool_loop: &ToolLoop<'_>,
    turn: &mut Turn<'_>,
    reply: &mut dyn Reply,
) -> Result<Box<ChatResponse>> {
    let call = tool_loop.call;
    let mut moderation = if turn.is_resumed() {
        // The message was accepted before the first tool ran.
        PendingModeration::Passed
    } else {
        PendingModeration::new(call, tool_loop.message.guarded())
    };
    loop {
        let answer = tool_loop.next_answer(turn, &mut moderation).await?;
        match reply.read(&readable(call, &answer), call.plan.output.shape()) {
            Ok(()) => {
                deliver(call, turn, &answer);
                return Ok(answer);
            }
            Err(error) => {
                call.emit(&Event::AnswerUnreadable { error: &error });
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
        can_forbid_tools: plan.can_forbid_tools,
        answer_tool: plan.output.answer_tool(),
        output_retries,
        checks_answers: plan.checks_answers,
        check_retries: plan.guards.max_retries(),
    }
}

fn first_request(
    call: &ServiceCall,
    snapshot: &Snapshot,
    toolbox: &Toolbox,
    user: &UserMessage,
) -> ChatRequest {
    // The usual turn is a message and its answer, and with tools two messages for each round.
    let mut turn = Vec::with_capacity(if toolbox.is_empty() { 2 } else { 8 });
    turn.push(user.clone().into());
    ChatRequest {
        system: call.prompts.system.clone().or_else(|| snapshot.system().cloned()),
        history: snapshot.messages().clone(),
        skipped: snapshot.start(),
        turn,
        tools: call.plan.output.first_specifications(toolbox, call.parameters.tool_choice.as_ref()),
        parameters: Arc::clone(&call.parameters),
        is_retry: false,
    }
}
