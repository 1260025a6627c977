//! Runs the output guardrails of a call.

use super::verdict_span::in_span;
use crate::Result;
use crate::event::Event;
use crate::guardrail::{
    GuardrailStage, Objection, OutputGuardrailRequest, OutputVerdict, Rejection,
};
use crate::model::ChatResponse;
use crate::service::call::ServiceCall;
use crate::service::guardrail_context::GuardrailContext;
use crate::service::turn::{CheckOutcome, rewritten};
use std::borrow::Cow;

/// The consequence of an objection.
enum Consequence {
    /// The model is called again, with this prompt if there is one.
    CallModel(Option<Box<str>>),
    /// The call fails after the other guardrails ran.
    Fail,
    /// The call fails now.
    FailNow,
}

/// Checks an answer, after `rejected` answers of the turn were rejected.
///
/// `Retry` and `Reprompt` stop the chain. It restarts with the next answer. After an objection
/// that fails the call, the model is not called again.
///
/// # Errors
///
/// If a guardrail rejects the answer for good, or fails.
pub(super) async fn check_output(
    call: &ServiceCall,
    context: &GuardrailContext,
    response: &ChatResponse,
    rejected: usize,
) -> Result<CheckOutcome> {
    let rejected = u32::try_from(rejected).unwrap_or(u32::MAX);
    let mut response = Cow::Borrowed(response);
    let mut objections = Vec::new();
    for guardrail in call.plan.guards.output() {
        let name = guardrail.name();
        let request = OutputGuardrailRequest::new(&response, &context.turn)
            .with_contents(&context.segments)
            .with_rejected(rejected);
        let check = guardrail.check(request);
        let report = |verdict: &_| call.emit(&Event::OutputChecked { guardrail: name, verdict });
        let checking = in_span(name, GuardrailStage::Output, check, OutputVerdict::name, report);
        let verdict = checking.await?;
        let (reason, consequence) = match verdict {
            OutputVerdict::Success => continue,
            OutputVerdict::Rewrite(text) if response.message.text() == Some(&*text) => continue,
            OutputVerdict::Rewrite(text) => {
                response = Cow::Owned(rewritten(response.into_owned(), text));
                continue;
            }
            OutputVerdict::Retry(reason) => (reason, Consequence::CallModel(None)),
            OutputVerdict::Reprompt { reason, prompt } => {
                // No protocol accepts an empty message.
                let prompt = Some(prompt).filter(|prompt| !prompt.trim().is_empty());
                (reason, Consequence::CallModel(prompt))
            }
            OutputVerdict::Failure(reason) => (reason, Consequence::Fail),
            OutputVerdict::Fatal(reason) => (reason, Consequence::FailNow),
        };
        let is_first = objections.is_empty();
        objections.push(Objection::new(name, reason));
        match consequence {
            Consequence::CallModel(prompt) if is_first => {
                let rejection = Rejection::new(GuardrailStage::Output, objections);
                return Ok(CheckOutcome::Rejected { rejection, prompt });
            }
            Consequence::CallModel(_) | Consequence::Fail => {}
            Consequence::FailNow => break,
        }
    }
    if !objections.is_empty() {
        return Err(Rejection::new(GuardrailStage::Output, objections).into_error());
    }
    Ok(match response {
        Cow::Borrowed(_) => CheckOutcome::Accepted,
        Cow::Owned(response) => {
            CheckOutcome::Rewritten(response.message.text().unwrap_or_default().into())
        }
    })
}
