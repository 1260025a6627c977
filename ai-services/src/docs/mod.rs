//! Longer reading.

/// Every error that the macros report, with its cause and its cure.
#[doc = include_str!("errors.md")]
pub mod errors {}

/// What a method may return, and how the model is brought to answer with it.
#[doc = include_str!("outputs.md")]
pub mod outputs {}

/// Answers that arrive piece by piece.
#[doc = include_str!("streaming.md")]
pub mod streaming {}

/// What the model is told beside what the user said.
#[doc = include_str!("retrieval.md")]
pub mod retrieval {}
