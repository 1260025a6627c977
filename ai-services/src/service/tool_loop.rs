//! The conversation between model and tools, up to an answer that passed all checks.

use super::call::ServiceCall;
use super::checks::check_answer;
use super::guardrail_context::GuardrailContext;
use super::memory_session::MemorySession;
use super::model_call::call_model;
use super::moderation::PendingModeration;
use super::stream::{StreamItem, emit_round};
use super::tool_events::ToolEvents;
use super::turn::{CheckOutcome, Step, ToolRound, Turn};
use crate::Result;
use crate::memory::Snapshot;
use crate::model::ChatResponse;
use crate::tool::{ResultUse, Runner, Toolbox};

/// The surroundings of the loop, which do not change within one attempt at a turn.
pub(super) struct ToolLoop<'a> {
    pub(super) call: &'a ServiceCall,
    pub(super) session: &'a MemorySession,
    pub(super) snapshot: &'a Snapshot,
    pub(super) toolbox: &'a Toolbox,
    pub(super) context: Option<&'a GuardrailContext>,
}

impl ToolLoop<'_> {
    /// Calls the model and its tools until there is an answer that passed all checks.
    pub(super) async fn next_answer(
        &self,
        turn: &mut Turn<'_>,
        moderation: &mut PendingModeration<'_>,
    ) -> Result<Box<ChatResponse>> {
        let call = self.call;
        let mut step = Step::CallModel;
        loop {
            match step {
                Step::CallModel => {
                    self.session.fit(self.snapshot, turn.request_mut())?;
                    let response = call_model(call, turn.request(), moderation).await?;
                    step = turn.model_replied(response)?;
                    turn.add_metered(call.meter());
                    call.delivery.emit(|| StreamItem::Usage(turn.usage()));
                }
                Step::Restart => {
                    call.delivery.restart();
                    step = Step::CallModel;
                }
                Step::RunTools(round) => {
                    // Tools have effects.
                    moderation.passed().await?;
                    step = self.run_tools(turn, round).await?;
                }
                Step::CheckAnswer(answer) => {
                    match self.check(turn.rejected(), moderation, &answer).await {
                        Ok(outcome) => step = turn.answer_checked(answer, outcome)?,
                        Err(error) => return Err(turn.fail(answer, error)),
                    }
                }
                Step::ParseAnswer(answer) => {
                    return match moderation.passed().await {
                        Ok(()) => Ok(answer),
                        Err(error) => Err(turn.fail(answer, error)),
                    };
                }
            }
        }
    }

    async fn run_tools(&self, turn: &mut Turn<'_>, round: ToolRound) -> Result<Step> {
        let Self { call, toolbox, .. } = *self;
        if let Some(queue) = call.delivery.after_check() {
            emit_round(queue, &round.message);
        }
        call.delivery.flush().await;
        let tool_calls = round.message.tool_calls();
        let events = ToolEvents::new(call, toolbox, tool_calls);
        let settings = &call.components.settings.tools;
        let runner = Runner { toolbox, context: &call.context, settings, observer: &events };
        let outcome = runner.run(tool_calls).await;
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
