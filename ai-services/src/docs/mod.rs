//! Longer reading.

/// Every error that the macros report, with its cause and its cure.
#[doc = include_str!("errors.md")]
pub mod errors {}
