//! The approval of the tool calls of one answer.

use super::approval_settings::{ApprovalSettings, no_approver};
use super::call::ServiceCall;
use super::durable::RoundLog;
use crate::approval::{Decision, PendingCall, Suspension, WaitsFor};
use crate::message::ToolCall;
use crate::tool::{Effect, PriorCall, StartedCall, ToolExecution, ToolLog, ToolRun, Toolbox};
use crate::{Error, InvocationContext, Result, async_trait};

/// The calls of an answer that need approval: their indices in the answer, and descriptions.
pub(super) type WaitingCalls = Vec<(usize, PendingCall)>;

/// Returns the calls that need approval.
pub(super) fn required(
    settings: &ApprovalSettings,
    toolbox: &Toolbox,
    calls: &[ToolCall],
    context: &InvocationContext,
) -> WaitingCalls {
    let mut waiting = Vec::new();
    if settings.policy.is_none() && !toolbox.requires_approval() {
        return waiting;
    }
    for (index, call) in calls.iter().enumerate() {
        // A call of a tool that does not exist has no effect.
        if let Some(tool) = toolbox.get(call.name())
            && settings.is_required(tool, call, context)
        {
            waiting.push((index, PendingCall::new(call, tool.specification())));
        }
    }
    waiting
}

/// Decides about the calls of a durable turn that have no decision yet: by the handler, or by suspending the turn.
///
/// # Errors
///
/// Returns [`ErrorKind::Suspended`](crate::ErrorKind::Suspended) if there is no handler. Fails if the handler fails.
pub(super) async fn decide_or_suspend(
    call: &ServiceCall,
    round: &mut RoundLog<'_>,
    mut waiting: WaitingCalls,
) -> Result<()> {
    waiting.retain(|(index, pending)| round.is_undecided(*index, &pending.definition));
    if waiting.is_empty() {
        return Ok(());
    }
    let settings = &call.components.settings;
    if settings.approval.handler.is_some() {
        return round.decide(ask(call, waiting).await?).await;
    }
    let expiry = settings.durable_turns.unwrap_or_default().approval_expiry;
    Err(round.suspend(&waiting, expiry).await?.into())
}

/// Suspends the turn of a round whose first failed call waits for answers of the user, or for the end of a task. The
/// journal has the other calls that wait.
///
/// # Errors
///
/// Fails if the journal cannot be written.
pub(super) async fn await_answers(
    call: &ServiceCall,
    round: &RoundLog<'_>,
    (calls, toolbox): (&[ToolCall], &Toolbox),
    mut run: ToolRun,
) -> Result<ToolRun> {
    let Some(Suspension::Awaits(_)) = run.failure.as_ref().and_then(Error::detail) else {
        return Ok(run);
    };
    let mut waiting = Vec::with_capacity(run.awaited.len());
    for (index, awaited) in std::mem::take(&mut run.awaited) {
        let waits_for = match awaited.elicitations {
            questions if questions.is_empty() => WaitsFor::Task,
            questions => WaitsFor::Answers(questions),
        };
        // As the model wrote it, also if its arguments were edited.
        if let Some(waiting_call) = calls.get(index) {
            let pending = match toolbox.get(waiting_call.name()) {
                Some(tool) => PendingCall::new(waiting_call, tool.specification()),
                None => PendingCall::unspecified(waiting_call),
            };
            waiting.push((index, pending.waiting_for(waits_for)));
        }
    }
    let expiry = call.components.settings.durable_turns.unwrap_or_default().approval_expiry;
    run.failure = Some(round.suspend_for(waiting, expiry).await?.into());
    Ok(run)
}

/// Decides about the calls of a turn without a journal.
///
/// # Errors
///
/// Fails if there is no handler, or if it fails.
pub(super) async fn decide(
    call: &ServiceCall,
    calls: &[ToolCall],
    waiting: WaitingCalls,
) -> Result<DecidedCalls> {
    let mut decisions = vec![None; calls.len()];
    for (index, _, decision) in ask(call, waiting).await? {
        if let Some(known) = decisions.get_mut(index) {
            *known = Some(decision);
        }
    }
    Ok(DecidedCalls(decisions))
}

/// Asks the handler about each call, in their order.
async fn ask(
    call: &ServiceCall,
    waiting: WaitingCalls,
) -> Result<Vec<(usize, PendingCall, Decision)>> {
    let mut decided = Vec::with_capacity(waiting.len());
    for (index, pending) in waiting {
        let handler = call.components.settings.approval.handler.as_ref();
        let handler = handler.ok_or_else(|| no_approver(&pending.tool))?;
        let decision = handler.decide(&pending, &call.context.invocation).await?;
        decided.push((index, pending, decision));
    }
    Ok(decided)
}

/// The decisions about the calls of a turn without a journal.
pub(super) struct DecidedCalls(Vec<Option<Decision>>);

#[async_trait]
impl ToolLog for DecidedCalls {
    fn prior(&self, _index: usize) -> PriorCall {
        PriorCall::NotStarted
    }

    fn decision(&self, index: usize) -> Option<&Decision> {
        self.0.get(index)?.as_ref()
    }

    async fn start(&self, _calls: &[StartedCall]) -> Result<()> {
        Ok(())
    }

    async fn finish(&self, _index: usize, _execution: &ToolExecution, _: &Effect) -> Result<()> {
        Ok(())
    }
}
