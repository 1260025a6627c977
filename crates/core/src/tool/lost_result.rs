//! The outcome of calls without a result: their tool was stopped or lost the answer, or their process ended.

use super::Tool;
use super::effect::{CallState, Effect};
use super::error::ToolError;
use super::lost_effect::LostEffect;
use super::output::ToolOutput;
use super::run::{Attempt, Runner};

impl Runner<'_> {
    /// Decides about the effect of a tool that ended without a result, with this error.
    pub(super) async fn settle(
        &self,
        tool: &Tool,
        attempt: Attempt<'_>,
        error: ToolError,
    ) -> Result<ToolOutput, ToolError> {
        let effect = match tool.effect() {
            Effect::ReadOnly => return Err(error),
            Effect::Idempotent if tool.has_shared_key(attempt.call) => LostEffect::Repeatable,
            Effect::Idempotent | Effect::AtMostOnce => LostEffect::Unknown,
            Effect::Verifiable(_) => match self.state_of(tool, attempt).await {
                CallState::Executed(output) => return Ok(output),
                CallState::NotExecuted => LostEffect::None,
                CallState::Unknown => LostEffect::Unknown,
            },
        };
        Err(error.with_effect(effect))
    }

    /// Asks the verifier of a tool for the outcome of an attempt. The outcome stays unknown without a verifier, and
    /// if the verifier fails.
    pub(super) async fn state_of(&self, tool: &Tool, attempt: Attempt<'_>) -> CallState {
        let state = tool.state_of(self.input(attempt), self.settings.timeout).await;
        state.unwrap_or_else(|error| {
            let name = tool.name();
            tracing::warn!(tool = name, %error, "the verifier of a tool failed");
            CallState::Unknown
        })
    }
}
