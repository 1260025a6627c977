//! Doubles for tests of services, without a network.

mod scripted;

pub use scripted::{ScriptedAnswer, ScriptedChatModel};
