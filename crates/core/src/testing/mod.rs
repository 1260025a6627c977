//! Test doubles that need no network, and conformance suites for stores.

mod answer;
mod scripted;

pub use answer::ScriptedAnswer;
pub use scripted::ScriptedChatModel;
