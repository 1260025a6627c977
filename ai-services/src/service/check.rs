//! The checks of an answer, before anybody is told of it.

use super::invocation::Invocation;
use super::moderation;
use super::opening::Opening;
use super::turn::{Checked, Turn};
use crate::error::Result;

/// What the output guardrails and the moderation model make of the turn's answer.
///
/// # Errors
///
/// If one of them wants the call to fail, or cannot decide.
pub(super) async fn check(
    invocation: &Invocation<'_>,
    opening: &Opening,
    turn: &Turn<'_>,
) -> Result<Checked> {
    let Some(answer) = turn.answer() else { return Ok(Checked::Accepted) };
    let mut checked = Checked::Accepted;
    if let Some(background) = &opening.background {
        let answer = (answer, turn.rejected());
        let asked = (&opening.user, background);
        checked = invocation.guards.pass_output(invocation, asked, answer).await?;
    }
    let text = match &checked {
        Checked::Accepted => answer.message.text(),
        Checked::Rewritten(text) => Some(&**text),
        Checked::Again { .. } => None,
    };
    if let (Some(model), Some(text)) = (invocation.judge_of_answers(), text) {
        moderation::judge_answer(model, text).await?;
    }
    Ok(checked)
}
