//! Guardrails for sensitive data, prompt injection, and judgement by a model.
//!
//! Part of [`ai-services`](https://docs.rs/ai-services), which re-exports everything here as
//! `ai_services::guardrail` and `ai_services::rag`. The contracts are in [`ai_services_core::guardrail`].

mod characters;
mod injection;
mod judge;
mod query_redaction;
mod redaction;
mod steps;

pub use injection::{InjectionSign, PromptInjectionPatterns};
pub use judge::{LanguageModelJudge, LanguageModelJudgeBuilder};
pub use redaction::{Placeholders, Redaction, SensitiveKind, StreamingRedaction};
