//! The guardrails of a method: the builder's, then the trait's, then the method's own.

mod chunk_guards;
mod input;
mod output;
mod set;
mod verdict_span;

pub(super) use chunk_guards::{Channel, ChunkGuards};
pub(super) use set::Guards;
