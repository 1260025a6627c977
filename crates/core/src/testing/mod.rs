//! Test doubles that need no network.

mod answer;
mod scripted;

pub use answer::ScriptedAnswer;
pub use scripted::ScriptedChatModel;
