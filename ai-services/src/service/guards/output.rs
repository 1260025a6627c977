//! The guardrails of what the model answered.

use super::{Guards, verdict_of};
use crate::error::Result;
use crate::event::Event;
use crate::guardrail::{
    GuardrailStage, Objection, OutputGuardrailRequest, OutputVerdict, Rejection,
};
use crate::model::ChatResponse;
use crate::service::invocation::Invocation;
use crate::service::opening::Background;
use crate::service::turn::{Checked, rewritten};
use std::borrow::Cow;

impl Guards {
    /// What the guardrails make of an answer, `rejected` others of which were rejected before.
    ///
    /// Who wants the model to be asked again ends the chain: it runs from its beginning for the next
    /// answer. After an objection that ends the call nobody is asked again.
    ///
    /// # Errors
    ///
    /// If one of them wants the call to fail, or cannot decide.
    pub(in crate::service) async fn pass_output(
        &self,
        invocation: &Invocation<'_>,
        background: &Background,
        (response, rejected): (&ChatResponse, usize),
    ) -> Result<Checked> {
        let mut response = Cow::Borrowed(response);
        let mut objections = Vec::new();
        for guardrail in &self.output {
            let name = guardrail.name();
            let rejected = u32::try_from(rejected).unwrap_or(u32::MAX);
            let request = OutputGuardrailRequest::new(&response, &background.turn)
                .with_contents(&background.segments)
                .with_rejected(rejected);
            let check = guardrail.check(request);
            let verdict =
                verdict_of(name, GuardrailStage::Output, check, OutputVerdict::name).await?;
            invocation.emit(&Event::OutputChecked { guardrail: name, verdict: &verdict });
            let (reason, then) = match verdict {
                OutputVerdict::Success => continue,
                OutputVerdict::Rewrite(text) if response.message.text() == Some(&*text) => continue,
                OutputVerdict::Rewrite(text) => {
                    response = Cow::Owned(rewritten(response.into_owned(), text));
                    continue;
                }
                OutputVerdict::Retry(reason) => (reason, Then::AskAgain(None)),
                OutputVerdict::Reprompt { reason, prompt } => {
                    // No protocol sends an empty message.
                    (reason, Then::AskAgain(Some(prompt).filter(|it| !it.trim().is_empty())))
                }
                OutputVerdict::Failure(reason) => (reason, Then::GoOn),
                OutputVerdict::Fatal(reason) => (reason, Then::Stop),
            };
            let may_ask_again = objections.is_empty();
            objections.push(Objection::new(name, reason));
            match then {
                Then::AskAgain(prompt) if may_ask_again => {
                    let rejection = Rejection::new(GuardrailStage::Output, objections);
                    return Ok(Checked::Again { rejection, prompt });
                }
                Then::AskAgain(_) | Then::GoOn => {}
                Then::Stop => break,
            }
        }
        if !objections.is_empty() {
            return Err(Rejection::new(GuardrailStage::Output, objections).into_error());
        }
        Ok(match response {
            Cow::Borrowed(_) => Checked::Accepted,
            Cow::Owned(response) => {
                Checked::Rewritten(response.message.text().unwrap_or_default().into())
            }
        })
    }
}

/// What follows from an objection.
enum Then {
    /// The model is asked again, and told this.
    AskAgain(Option<Box<str>>),
    GoOn,
    Stop,
}
