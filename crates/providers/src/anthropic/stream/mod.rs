//! Streamed answers.

mod assembly;
mod partial_block;

pub(super) use assembly::MessageAssembly;
