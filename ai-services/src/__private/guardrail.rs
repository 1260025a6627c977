//! Items for the guardrails in attributes.

use crate::guardrail::{InputGuardrail, OutputGuardrail};
use std::sync::Arc;

/// Converts an argument of `#[input_guardrails]`.
pub fn input_guardrail<G: InputGuardrail + 'static>(guardrail: G) -> Arc<dyn InputGuardrail> {
    Arc::new(guardrail)
}

/// Converts an argument of `#[output_guardrails]`.
pub fn output_guardrail<G: OutputGuardrail + 'static>(guardrail: G) -> Arc<dyn OutputGuardrail> {
    Arc::new(guardrail)
}

/// Collects the guardrails of one attribute.
pub fn guardrails<G, const N: usize>(guardrails: [G; N]) -> Vec<G> {
    guardrails.into()
}
