//! The checks of an answer before it is parsed and delivered.

use super::call::Call;
use super::guardrail_context::GuardrailContext;
use super::moderation::moderate_answer;
use super::turn::CheckOutcome;
use crate::error::Result;
use crate::model::ChatResponse;

/// Runs the output guardrails and the moderation of an answer, after `rejected` answers of the turn
/// were rejected.
///
/// # Errors
///
/// If a check rejects the answer for good, or fails.
pub(super) async fn check_answer(
    call: &Call,
    context: Option<&GuardrailContext>,
    answer: &ChatResponse,
    rejected: usize,
) -> Result<CheckOutcome> {
    let outcome = match context {
        Some(context) => call.plan.guards.check_output(call, context, (answer, rejected)).await?,
        None => CheckOutcome::Accepted,
    };
    let text = match &outcome {
        CheckOutcome::Accepted => answer.message.text(),
        CheckOutcome::Rewritten(text) => Some(&**text),
        CheckOutcome::Rejected { .. } => None,
    };
    // Moderation services reject empty text.
    let text = text.filter(|text| !text.trim().is_empty());
    if let (Some(model), Some(text)) = (call.answer_moderation(), text) {
        moderate_answer(call, model, text).await?;
    }
    Ok(outcome)
}
