//! Summaries of the turns that a window evicts.

mod carrier;
mod summarizer;
mod transcript;

pub(super) use carrier::{carried_by, carry, turn};
pub use summarizer::Summarizer;
