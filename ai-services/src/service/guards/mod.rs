//! The guardrails of a method: the builder's, then the trait's, then the method's own.

mod chunk_guards;
mod set;

pub(super) use chunk_guards::{Channel, ChunkGuards};
pub(super) use set::Guards;
