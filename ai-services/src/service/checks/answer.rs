//! The checks of an answer before it is parsed and delivered.

use super::output_guardrails::check_output;
use crate::Result;
use crate::model::ChatResponse;
use crate::service::call::ServiceCall;
use crate::service::guardrail_context::GuardrailContext;
use crate::service::moderation::moderate_answer;
use crate::service::turn::CheckOutcome;

/// Runs the output guardrails and the moderation of an answer, after `rejected` answers of the turn
/// were rejected.
///
/// # Errors
///
/// If a check rejects the answer for good, or fails.
pub(in crate::service) async fn check_answer(
    call: &ServiceCall,
    context: Option<&GuardrailContext>,
    answer: &ChatResponse,
    rejected: usize,
) -> Result<CheckOutcome> {
    let outcome = match context {
        Some(context) => check_output(call, context, answer, rejected).await?,
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
