//! The conversation between model and tools, up to an answer that passed all checks.

use super::approvals::{self, WaitingCalls};
use super::call::ServiceCall;
use super::checks::check_answer;
use super::durable::{Began, TurnLog};
use super::guardrail_context::GuardrailContext;
use super::memory_session::MemorySession;
use super::model_call::call_model;
use super::moderation::PendingModeration;
use super::offered_tools::OfferedTools;
use super::open_turn::new_log;
use super::prepared_message::PreparedMessage;
use super::stream::{StreamItem, emit_round};
use super::tool_events::ToolEvents;
use super::turn::{CheckOutcome, Step, ToolRound, Turn};
use crate::Result;
use crate::memory::{LeaseToken, Snapshot};
use crate::message::ToolCall;
use crate::model::ChatResponse;
use crate::tool::{LoggedRunner, ResultUse, Runner, ToolRun, Toolbox};
use std::sync::{Arc, OnceLock};
use tokio::time::timeout_at;

/// The surroundings of the loop, which do not change within one attempt at a turn.
pub(super) struct ToolLoop<'a> {
    pub(super) call: &'a ServiceCall,
    pub(super) session: &'a MemorySession,
    pub(super) snapshot: &'a Snapshot,
    pub(super) tools: &'a OfferedTools,
    pub(super) message: &'a PreparedMessage<'a>,
    pub(super) context: Option<&'a GuardrailContext>,
    /// The log of a durable turn, from its first tools on.
    pub(super) log: &'a OnceLock<Box<TurnLog>>,
    pub(super) lease: Option<LeaseToken>,
}

impl ToolLoop<'_> {
    /// Calls the model and its tools until there is an answer that passed all checks.
    pub(super) async fn next_answer(
        &self,
        turn: &mut Turn<'_>,
        moderation: &mut PendingModeration<'_>,
    ) -> Result<Box<ChatResponse>> {
        let call = self.call;
        let (mut step, mut is_recorded) = (Step::CallModel, false);
        loop {
            match step {
                Step::CallModel => {
                    if call.plan.tools.are_refreshed() {
                        let (user, request) = (self.message.guarded(), turn.request_mut());
                        Box::pin(self.tools.refresh(call, user, request)).await?;
                    }
                    if call.plan.output.adds_answer_tool() {
                        self.tools.add_answer_tool(call, turn.request_mut());
                    }
                    let recorded = match self.log.get() {
                        Some(log) if log.is_resumed() => Box::pin(log.recorded_answer()).await?,
                        Some(_) | None => None,
                    };
                    is_recorded = recorded.is_some();
                    step = match recorded {
                        Some(response) => turn.response_replayed(response)?,
                        None => {
                            let response = self.call_model(turn, moderation).await?;
                            turn.account.add_metered(call.meter());
                            turn.model_replied(response)?
                        }
                    };
                    call.delivery.emit(|| StreamItem::Usage(turn.usage()));
                }
                Step::Restart => {
                    call.delivery.restart();
                    step = Step::CallModel;
                }
                Step::RunTools(round) => {
                    // Tools have effects.
                    moderation.passed().await?;
                    if !is_recorded {
                        emit_whole(call, &round);
                    }
                    step = self.run_tools(turn, round).await?;
                }
                Step::CheckAnswer(answer) => {
                    match self.check(turn.rejected(), moderation, &answer).await {
                        Ok(outcome) => step = turn.answer_checked(answer, outcome)?,
                        Err(error) => return Err(turn.fail(answer, error)),
                    }
                }
                Step::ParseAnswer(answer) => {
                    if let Some(log) = self.log.get().filter(|log| log.is_resumed()) {
                        Box::pin(log.check_replayed()).await?;
                    }
                    return match moderation.passed().await {
                        Ok(()) => Ok(answer),
                        Err(error) => Err(turn.fail(answer, error)),
                    };
                }
            }
        }
    }

    async fn call_model(
        &self,
        turn: &mut Turn<'_>,
        moderation: &mut PendingModeration<'_>,
    ) -> Result<Box<ChatResponse>> {
        if let Some(outer) = &self.call.outer_budget {
            outer.check()?;
        }
        turn.account.add_metered(self.call.meter());
        turn.begin_request()?;
        self.session.fit(self.snapshot, turn.request_mut())?;
        let response = match turn.account.deadline() {
            None => call_model(self.call, turn.request(), moderation).await?,
            Some(deadline) => {
                let response = call_model(self.call, turn.request(), moderation);
                match Box::pin(timeout_at(deadline, response)).await {
                    Ok(response) => response?,
                    Err(_) => return Err(turn.account.out_of_time()),
                }
            }
        };
        if !response.message.tool_calls().is_empty()
            && let Some(log) = self.open_log()?
        {
            Box::pin(log.answered(&response)).await;
        }
        Ok(response)
    }

    async fn run_tools(&self, turn: &mut Turn<'_>, round: ToolRound) -> Result<Step> {
        let Self { call, tools, .. } = *self;
        let calls = round.message.tool_calls();
        let newest = call.plan.tools.are_refreshed().then(|| tools.newest()).flatten();
        let toolbox = newest.as_deref().unwrap_or(tools.first());
        call.delivery.flush().await;
        let events = ToolEvents::new(call, toolbox, calls);
        let approval = &call.components.settings.approval;
        if let Some(shared) = &call.shared_budget {
            turn.account.share(shared);
        }
        let waiting = approvals::required(approval, toolbox, calls, &call.context.invocation);
        let outcome = match self.log.get() {
            None if waiting.is_empty() => self.runner(turn, toolbox, &events).run(calls).await,
            None => {
                let decided = approvals::decide(call, calls, waiting);
                let log = Box::pin(turn.account.while_paused(decided)).await?;
                let runner = self.runner(turn, toolbox, &events);
                Box::pin(LoggedRunner { runner, log: &log }.run(calls)).await
            }
            Some(log) => {
                let round = (calls, toolbox, waiting);
                Box::pin(self.run_logged(log, turn, &events, round)).await?
            }
        };
        if outcome.result_use == ResultUse::SendToModel {
            events.release(&outcome.executions);
        }
        let step = turn.tools_replied(round, outcome.executions, outcome.result_use);
        let Some(error) = outcome.failure else { return Ok(step) };
        if let Step::Restart = step {
            call.delivery.restart();
        }
        Err(error)
    }

    /// Returns the log of a durable turn. A new turn gets it here.
    fn open_log(&self) -> Result<Option<&TurnLog>> {
        if self.log.get().is_none()
            && let Some(new) = new_log(self.call, self.session, self.snapshot, self.lease)?
        {
            // Nothing else sets it.
            let _ = self.log.set(new);
        }
        Ok(self.log.get().map(|log| &**log))
    }

    async fn run_logged(
        &self,
        log: &TurnLog,
        turn: &mut Turn<'_>,
        events: &ToolEvents<'_>,
        (calls, toolbox, waiting): (&[ToolCall], &Toolbox, WaitingCalls),
    ) -> Result<ToolRun> {
        let (place, spent) = ((turn.id(), turn.round()), *turn.account.spent());
        let mut log = log.round(place, calls, spent, || self.began()).await?;
        let decided = approvals::decide_or_suspend(self.call, &mut log, waiting);
        turn.account.while_paused(decided).await?;
        let log = log.with_total(turn.account.running_total(self.call.meter()));
        let runner = self.runner(turn, toolbox, events);
        let run = LoggedRunner { runner, log: &log }.run(calls).await;
        Box::pin(approvals::await_answers(self.call, &log, (calls, toolbox), run)).await
    }

    fn runner<'r>(
        &'r self,
        turn: &mut Turn<'_>,
        toolbox: &'r Toolbox,
        events: &'r ToolEvents<'_>,
    ) -> Runner<'r> {
        Runner {
            toolbox,
            turn: turn.id(),
            round: turn.round(),
            context: &self.call.context,
            settings: &self.call.components.settings.tools,
            observer: events,
            deadline: turn.account.deadline(),
        }
    }

    /// Returns the first entry of the turn's journal.
    fn began(&self) -> Began {
        let Self { call, message, context, .. } = *self;
        let sources = context.map(GuardrailContext::contents).unwrap_or_default();
        let own = !Arc::ptr_eq(&call.parameters, call.plan.output.parameters());
        let mut began = Began::new(call.components.name, call.plan.method.name, message.guarded())
            .with_sources(sources);
        began.request = call.request_id().map(|id| id.as_str().to_owned());
        began.system = call.prompts.system.clone();
        began.augmented = message.if_augmented().cloned().map(Into::into);
        began.instructed = message.if_instructed().cloned().map(Into::into);
        began.parameters = own.then(|| (*call.parameters).clone());
        began
    }

    async fn check(
        &self,
        rejected: usize,
        moderation: &mut PendingModeration<'_>,
        answer: &ChatResponse,
    ) -> Result<CheckOutcome> {
        moderation.passed().await?;
        let outcome = Box::pin(check_answer(self.call, self.context, answer, rejected)).await;
        if matches!(outcome, Ok(CheckOutcome::Accepted | CheckOutcome::Rewritten(_))) {
            return outcome;
        }
        // If the answer cannot be discarded either, the first error counts.
        let discarded = answer.discard_copy().await;
        outcome.and_then(|outcome| discarded.map(|()| outcome))
    }
}

/// Adds an answer that calls tools to the stream, unless its pieces were delivered before.
fn emit_whole(call: &ServiceCall, round: &ToolRound) {
    if let Some(queue) = call.delivery.after_check() {
        emit_round(queue, &round.message);
    }
}
