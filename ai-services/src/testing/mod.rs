//! Doubles for tests of services, without a network, and the checks that every store has to pass.

mod scripted;
pub mod stores;

pub use scripted::{ScriptedAnswer, ScriptedChatModel};
