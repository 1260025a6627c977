//! Longer reading.

/// From files to answers with sources: loading, cutting, embedding, storing, searching.
#[doc = include_str!("documents.md")]
pub mod documents {}

/// Every error that the macros report, with its cause and its cure.
#[doc = include_str!("errors.md")]
pub mod errors {}

/// Checks of what goes into a model and of what comes out.
#[doc = include_str!("guardrails.md")]
pub mod guardrails {}

/// What a method may return, and how the model is brought to answer with it.
#[doc = include_str!("outputs.md")]
pub mod outputs {}

/// Answers that arrive piece by piece.
#[doc = include_str!("streaming.md")]
pub mod streaming {}

/// What the model is told beside what the user said.
#[doc = include_str!("retrieval.md")]
pub mod retrieval {}
