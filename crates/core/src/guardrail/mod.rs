//! Guardrails: checks of what goes into a model and of what comes out.
//!
//! An [`InputGuardrail`] sees what the user said before the model does, an [`OutputGuardrail`] what the
//! model answered before anybody else does. Each accepts, rewrites or rejects; an output guardrail may
//! also have the model asked again. A guardrail that cannot decide fails the call: nothing is let through
//! unchecked.
//!
//! | guardrail | input | output |
//! |---|---|---|
//! | [`MaxLength`] | rejects what is too long | has the model be shorter |
//! | [`PromptInjectionPatterns`] | rejects what looks like taking over the model | |
//! | [`Redaction`] | takes out addresses, account numbers, keys | the same, and in [streams](Redaction::streaming) |
//! | [`ValidJson`] | | has the model write JSON |
//! | [`ModerationGuardrail`] | rejects what a moderation model flags | the same |
//! | [`LanguageModelJudge`] | rejects what a chat model objects to | has the model try again |
//! | [`input_guardrail_fn`], [`output_guardrail_fn`] | a closure | a closure |
//!
//! [`docs::guardrails`](crate::docs::guardrails) tells how they work together; `testing::guardrails`
//! (feature `testing`) is for tests of your own.

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
