//! The guardrails of what the user said.

use super::{Guards, verdict_of};
use crate::error::Result;
use crate::event::Event;
use crate::guardrail::{GuardrailStage, InputGuardrailRequest, InputVerdict, Objection, Rejection};
use crate::message::UserMessage;
use crate::service::invocation::Invocation;
use crate::service::opening::Background;

impl Guards {
    /// What the guardrails make of what the user said.
    ///
    /// # Errors
    ///
    /// If one of them objects or cannot decide.
    pub(in crate::service) async fn pass_input(
        &self,
        invocation: &Invocation<'_>,
        background: &Background,
    ) -> Result<UserMessage> {
        let mut message = background.turn.user_message().clone();
        let mut objections = Vec::new();
        for guardrail in &self.input {
            let name = guardrail.name();
            let request = InputGuardrailRequest::new(&message, &background.turn)
                .with_contents(&background.segments);
            let check = guardrail.check(request);
            let verdict =
                verdict_of(name, GuardrailStage::Input, check, InputVerdict::name).await?;
            invocation.emit(&Event::InputChecked { guardrail: name, verdict: &verdict });
            match verdict {
                InputVerdict::Success => {}
                InputVerdict::Rewrite(instead) => message = instead,
                InputVerdict::Failure(reason) => objections.push(Objection::new(name, reason)),
                InputVerdict::Fatal(reason) => {
                    objections.push(Objection::new(name, reason));
                    break;
                }
            }
        }
        match objections.is_empty() {
            true => Ok(message),
            false => Err(Rejection::new(GuardrailStage::Input, objections).into_error()),
        }
    }
}
