//! Guardrails: checks of the input and output of models.
//!
//! An [`InputGuardrail`] checks a user message before it is sent to the model, an [`OutputGuardrail`] an
//! answer before it is returned. Each accepts, rewrites or rejects; an output guardrail can also have the
//! model called again. A guardrail that returns an error fails the call (fail closed).

mod chunk;
mod function;
mod input;
#[doc(hidden)]
pub mod json;
mod length;
mod moderation;
mod on_rejection;
mod output;
mod rejection;

pub use chunk::{ChunkGuardrail, ChunkVerdict};
pub use function::{GuardrailFn, input_guardrail_fn, output_guardrail_fn};
pub use input::{InputGuardrail, InputGuardrailRequest, InputVerdict};
pub use json::{OtherKeys, ValidJson};
pub use length::MaxLength;
pub use moderation::{ModerationGuardrail, RetrievedTexts};
pub use on_rejection::OnRejection;
pub use output::{OutputGuardrail, OutputGuardrailRequest, OutputVerdict};
pub use rejection::{GuardrailStage, Objection, Rejection};
