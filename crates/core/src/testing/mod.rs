//! Test doubles that need no network.

mod answer;
mod embedding;
mod scripted;

pub use answer::ScriptedAnswer;
pub use embedding::HashingEmbeddingModel;
pub use scripted::ScriptedChatModel;
