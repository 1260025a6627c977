//! Streamed answers of chat completions.

mod assembly;
mod calls;

pub(super) use assembly::ChatAssembly;
