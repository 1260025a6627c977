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
        checked = invocation.guards.pass_output(invocation, background, answer).await?;
    }
    let text = match &checked {
        Checked::Accepted => answer.message.text(),
        Checked::Rewritten(text) => Some(&**text),
        Checked::Again { .. } => None,
    };
    // There is nothing to judge in an empty text, and services refuse it.
    let text = text.filter(|text| !text.trim().is_empty());
    if let (Some(model), Some(text)) = (invocation.judge_of_answers(), text) {
        moderation::judge_answer(invocation, model, text).await?;
    }
    Ok(checked)
}
