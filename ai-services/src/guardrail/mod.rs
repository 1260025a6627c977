//! Guardrails: checks of what goes into a model and of what comes out.

mod input;
mod output;

pub use input::{InputGuardrail, InputGuardrailRequest, InputVerdict};
pub use output::{OutputGuardrail, OutputGuardrailRequest, OutputVerdict};
