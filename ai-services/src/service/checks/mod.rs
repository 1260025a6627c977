//! The checks of a call: input guardrails, output guardrails, moderation of the answer.

mod answer;
mod input_guardrails;
mod output_guardrails;
mod verdict_span;

pub(super) use answer::check_answer;
pub(super) use input_guardrails::check_input;
