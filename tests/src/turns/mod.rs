//! Recognizable turns for the crash and race harnesses.
//!
//! Each turn has a tag in the messages of the user and of the assistant. Every third turn calls a tool in
//! between. From the messages alone, a checker recognizes the stored turns, their order, and
//! incomplete or interleaved turns.

pub mod check;
pub mod harness;
pub mod kind;
pub mod place;
pub mod play;
