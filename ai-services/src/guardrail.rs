//! Guardrails: checks of the input and output of models.
//!
//! An [`InputGuardrail`] checks a user message before it is sent to the model, an [`OutputGuardrail`] an
//! answer before it is returned. Each accepts, rewrites or rejects; an output guardrail can also have the
//! model called again. A guardrail that returns an error fails the call (fail closed).
//!
//! | guardrail | input | output |
//! |---|---|---|
//! | [`MaxLength`] | rejects long messages | requests a shorter answer |
//! | [`PromptInjectionPatterns`] | rejects likely prompt injections | |
//! | [`Redaction`] | removes addresses, account numbers, keys | the same, and in [streams](Redaction::streaming) |
//! | [`ValidJson`] | | requests valid JSON |
//! | [`ModerationGuardrail`] | rejects messages that a moderation model flags | the same |
//! | [`LanguageModelJudge`] | rejects messages that a chat model objects to | requests another answer |
//! | [`input_guardrail_fn`], [`output_guardrail_fn`] | a closure | a closure |
//!
//! [`docs::guardrails`](crate::docs::guardrails) describes how guardrails work together;
//! `testing::guardrails` (feature `testing`) helps to test your own.

#[doc(inline)]
pub use ai_services_core::guardrail::*;
#[doc(inline)]
pub use ai_services_guardrails::{
    InjectionSign, LanguageModelJudge, LanguageModelJudgeBuilder, Placeholders,
    PromptInjectionPatterns, Redaction, SensitiveKind, StreamingRedaction,
};
