//! Streamed answers.

mod assembly;
mod growing;

pub(super) use assembly::MessageAssembly;
