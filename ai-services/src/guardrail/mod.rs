//! Guardrails: checks of what goes into a model and of what comes out.

mod chunk;
mod input;
mod output;
mod rejection;

pub use chunk::{ChunkGuardrail, ChunkVerdict};
pub use input::{InputGuardrail, InputGuardrailRequest, InputVerdict};
pub use output::{OutputGuardrail, OutputGuardrailRequest, OutputVerdict};
pub use rejection::{GuardrailStage, Objection, Rejection};
