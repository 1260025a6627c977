//! Doubles for tests of services, without a network, and the checks that every store has to pass.

mod answer;
pub mod embedding_stores;
pub mod guardrails;
mod report;
mod scripted;
pub mod stores;

pub use answer::ScriptedAnswer;
pub use scripted::ScriptedChatModel;
