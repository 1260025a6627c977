//! One turn: the user message, the tool calls of the model, the answer.

mod account;
mod answer;
mod check_outcome;
mod finished_turn;
mod machine;
mod rules;
#[cfg(test)]
mod tests;

pub(super) use account::Account;
pub(super) use answer::rewritten;
pub(super) use check_outcome::{AnswerSource, CheckOutcome};
pub(super) use finished_turn::FinishedTurn;
pub(super) use machine::{Step, ToolRound, Turn};
pub(super) use rules::{Rules, ToolCallLimits};
