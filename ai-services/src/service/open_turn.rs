//! The open turn of a conversation, at the start of a call.

use super::call::ServiceCall;
use super::durable::{Began, JournaledTurn, TurnLog};
use super::durable_turns::{DurableTurns, OnOpenTurn};
use super::memory_session::MemorySession;
use crate::approval::{PendingCall, PendingTurn, Suspension, WaitsFor, now};
use crate::event::Event;
use crate::memory::{ConversationJournal, LeaseToken, MemoryId, RequestId, Snapshot, TurnId};
use crate::tool::{ToolError, Toolbox};
use crate::{Error, ErrorKind, Result};
use futures_util::future::{BoxFuture, Either, Ready, ready};

/// The log of a turn that is resumed, or another open turn, which has to be finished first.
pub(super) type TurnStart = Result<Option<Box<TurnLog>>, Box<JournaledTurn>>;

/// Decides how the turn starts. `own` is the turn that the call has to go on with.
///
/// # Errors
///
/// If the call must not touch the open turn, if the turn cannot be resumed, or if the store has no journals.
pub(super) fn start<'a>(
    call: &'a ServiceCall,
    session: &'a MemorySession,
    snapshot: &'a Snapshot,
    lease: Option<LeaseToken>,
    own: Option<TurnId>,
) -> Either<Ready<Result<TurnStart>>, BoxFuture<'a, Result<TurnStart>>> {
    if call.components.settings.durable_turns.is_none() {
        return Either::Left(ready(Ok(Ok(None))));
    }
    let open = snapshot.journal();
    if own.is_some() && open.map(|position| position.turn) != own {
        return Either::Left(ready(Err(ended_elsewhere())));
    }
    if open.is_none() {
        return Either::Left(ready(check_journals(call, session).map(|()| Ok(None))));
    }
    // In a box: few conversations have an open turn.
    Either::Right(Box::pin(take_up(call, session, lease, own)))
}

/// Fails if tools may be called, and the store has no journals.
fn check_journals(call: &ServiceCall, session: &MemorySession) -> Result<()> {
    if call.plan.tools.may_exist() {
        session.journal(call.plan.method.name)?;
    }
    Ok(())
}

/// Returns the log of a new turn, if it is durable and has a memory.
pub(super) fn new_log(
    call: &ServiceCall,
    session: &MemorySession,
    snapshot: &Snapshot,
    lease: Option<LeaseToken>,
) -> Result<Option<Box<TurnLog>>> {
    if call.components.settings.durable_turns.is_none() {
        return Ok(None);
    }
    let journal = session.journal(call.plan.method.name)?;
    let (version, request) = (snapshot.version(), call.request_id().cloned());
    Ok(journal.map(|journal| Box::new(TurnLog::new(journal, lease, version, request))))
}

/// Resumes the open turn if it belongs to the call, or decides what happens to it.
async fn take_up(
    call: &ServiceCall,
    session: &MemorySession,
    lease: Option<LeaseToken>,
    own: Option<TurnId>,
) -> Result<TurnStart> {
    let settings = call.components.settings.durable_turns.unwrap_or_default();
    let Some(journal) = session.journal(call.plan.method.name)? else {
        return Ok(Ok(None));
    };
    let Some(turn) = read(&journal).await? else { return Err(ended_elsewhere()) };
    // The snapshot is older: since then, the own turn may have ended, and another one begun.
    if own.is_some_and(|own| own != turn.id()) {
        return Err(ended_elsewhere());
    }
    let is_own = own.is_some() || is_same_request(call, turn.began());
    if (is_own || settings.on_open_turn == OnOpenTurn::Resume)
        && (call.components.settings.approval.handler.is_none() || turn.waits_for_answers())
        && let Some(pending) = turn.pending(journal.id(), now())
    {
        return Err(pending.into());
    }
    if (is_own || settings.on_open_turn == OnOpenTurn::Resume)
        && let Some((tool, pending)) = nested_pending(call.plan.tools.own(), &turn).await?
    {
        return Err(ToolError::suspended(Suspension::Pending(pending)).into_error(&tool));
    }
    if (is_own || settings.on_open_turn == OnOpenTurn::Resume)
        && let Some(pending) = pending_tasks(&turn, journal.id(), Due::Later)
    {
        return Err(pending.into());
    }
    if is_own {
        check_resumes(settings, &turn)?;
        call.emit(&Event::TurnResumed { turn: turn.id() });
        let log = TurnLog::resume(journal, lease, turn).await?;
        return Ok(Ok(Some(Box::new(log))));
    }
    match settings.on_open_turn {
        OnOpenTurn::Resume => Ok(Err(turn)),
        OnOpenTurn::Reject => Err(blocked(turn.began())),
        OnOpenTurn::Cancel => {
            journal.discard(turn.position()).await?;
            Ok(Ok(None))
        }
    }
}

/// Returns a tool that waits for decisions about another turn, and that turn, if the decisions were not made yet.
///
/// # Errors
///
/// If the store of the other turn fails.
pub(super) async fn nested_pending(
    toolbox: &Toolbox,
    turn: &JournaledTurn,
) -> Result<Option<(String, PendingTurn)>> {
    for (call, suspension) in turn.suspended_calls() {
        if let Suspension::Pending(pending) = suspension
            && let Some(tool) = toolbox.get(call.name())
            && pending.expires > now()
            && tool.is_pending(pending).await?
        {
            return Ok(Some((call.name().to_owned(), pending.clone())));
        }
    }
    Ok(None)
}

/// The tasks that count as pending.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    /// Tasks whose time for the next look has not come.
    Later,
    /// All tasks.
    Anytime,
}

/// Returns the calls that wait for the ends of tasks, if nothing but these calls keeps the turn from going on.
pub(super) fn pending_tasks(turn: &JournaledTurn, id: &MemoryId, due: Due) -> Option<PendingTurn> {
    let now = now();
    let mut pending = Vec::new();
    for (call, suspension) in turn.suspended_calls() {
        match suspension {
            Suspension::Awaits(awaited) if due == Due::Anytime || awaited.not_before > now => {
                pending.push(PendingCall::unspecified(call).waiting_for(WaitsFor::Task));
            }
            Suspension::Awaits(_) | Suspension::Pending(_) => return None,
        }
    }
    (!pending.is_empty()).then(|| PendingTurn::new(id, turn.position(), pending, u64::MAX))
}

/// Reads the open turn of a conversation.
pub(super) async fn read(journal: &ConversationJournal) -> Result<Option<Box<JournaledTurn>>> {
    let turn = journal.read().await?.as_ref().map(JournaledTurn::read).transpose()?;
    Ok(turn.map(Box::new))
}

/// Deletes the open journal of a request that was answered before.
///
/// Another process has answered it while the turn of the journal was interrupted.
pub(super) async fn discard_answered(
    call: &ServiceCall,
    session: &MemorySession,
    snapshot: &Snapshot,
) -> Result<()> {
    if snapshot.journal().is_none() {
        return Ok(());
    }
    let Some(journal) = session.journal(call.plan.method.name)? else { return Ok(()) };
    match read(&journal).await? {
        Some(turn) if is_same_request(call, turn.began()) => journal.discard(turn.position()).await,
        _ => Ok(()),
    }
}

/// Deletes the journal of a turn that failed for good, and keeps the journal of one that may succeed when it is
/// resumed.
pub(super) async fn abandon(log: Option<Box<TurnLog>>, error: &Error) {
    // Such a conflict: the request was answered before, or the journal is no longer that of this process.
    let is_refused = error.kind() == ErrorKind::Conflict && !error.is_retryable();
    if let Some(log) = log.filter(|_| is_refused || is_final(error)) {
        log.discard().await;
    }
}

/// Returns `true` if the turn would fail again.
pub(super) fn is_final(error: &Error) -> bool {
    use ErrorKind::{
        Guardrail, InvalidRequest, LimitExceeded, Media, Moderation, Output, Prompt, Refused, Tool,
        TurnTooLarge, Unsupported,
    };
    let is_final_kind = matches!(
        error.kind(),
        Guardrail
            | InvalidRequest
            | LimitExceeded
            | Media
            | Moderation
            | Output
            | Prompt
            | Refused
            | Tool
            | TurnTooLarge
            | Unsupported
    );
    is_final_kind && !error.is_retryable()
}

/// Fails if the turn was resumed too often. The journal stays.
pub(super) fn check_resumes(settings: DurableTurns, turn: &JournaledTurn) -> Result<()> {
    let (resumes, max) = (turn.resumes(), settings.max_resumes);
    if resumes < max {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Busy,
        format!(
            "the open turn of `{}` was resumed {resumes} times and did not end; at most {max} are allowed by \
             `DurableTurns::max_resumes`. Cancel it with `AiService::cancel_open_turn`",
            turn.began().method
        ),
    )
    .with_retryable(false))
}

fn is_same_request(call: &ServiceCall, began: &Began) -> bool {
    let request = call.request_id().map(RequestId::as_str);
    request.is_some()
        && request == began.request.as_deref()
        && began.service == call.components.name
        && began.method == call.plan.method.name
}

/// The error of a call that finds an open turn and must not resume it.
pub(super) fn blocked(began: &Began) -> Error {
    Error::new(
        ErrorKind::Busy,
        format!(
            "a turn of `{}` is open in this conversation; resume it with `AiService::resume`, or cancel it with \
             `AiService::cancel_open_turn`",
            began.method
        ),
    )
    .with_retryable(false)
}

/// The error of a turn whose journal is gone.
fn ended_elsewhere() -> Error {
    Error::new(ErrorKind::Conflict, "the open turn was resumed, finished or cancelled elsewhere")
        .with_retryable(false)
}
