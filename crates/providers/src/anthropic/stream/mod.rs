//! Streamed answers.

mod assembly;
mod delivery;
mod partial_block;

pub(super) use assembly::MessageAssembly;
