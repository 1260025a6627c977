//! Runs the input guardrails of a call.

use super::verdict_span::in_span;
use crate::Result;
use crate::event::Event;
use crate::guardrail::{GuardrailStage, InputGuardrailRequest, InputVerdict, Objection, Rejection};
use crate::message::UserMessage;
use crate::service::call::ServiceCall;
use crate::service::guardrail_context::GuardrailContext;

/// Checks the user message and returns it with the rewrites of the guardrails.
///
/// # Errors
///
/// If a guardrail rejects the message or fails.
pub(in crate::service) async fn check_input(
    call: &ServiceCall,
    context: &GuardrailContext,
) -> Result<UserMessage> {
    let mut message = context.turn.user_message().clone();
    let mut objections = Vec::new();
    for guardrail in call.plan.guards.input() {
        let name = guardrail.name();
        let request =
            InputGuardrailRequest::new(&message, &context.turn).with_contents(&context.segments);
        let check = guardrail.check(request);
        let report = |verdict: &_| call.emit(&Event::InputChecked { guardrail: name, verdict });
        let checking = in_span(name, GuardrailStage::Input, check, InputVerdict::name, report);
        let verdict = checking.await?;
        match verdict {
            InputVerdict::Success => {}
            InputVerdict::Rewrite(rewritten) => message = rewritten,
            InputVerdict::Failure(reason) => objections.push(Objection::new(name, reason)),
            InputVerdict::Fatal(reason) => {
                objections.push(Objection::new(name, reason));
                break;
            }
        }
    }
    if objections.is_empty() {
        return Ok(message);
    }
    Err(Rejection::new(GuardrailStage::Input, objections).into_error())
}
