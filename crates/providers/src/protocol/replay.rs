//! Replay of earlier thinking.

use ai_services_core::message::ChatMessage;
use ai_services_core::model::ChatRequest;

/// The earlier thinking that is sent back to a model, for protocols in which thinking is plain text
/// beside the answer.
///
/// Most servers of chat completions reject or ignore it. Models that think between tool calls require
/// it for the current turn, or answer worse without it: DeepSeek, Kimi, GLM, and vLLM with such a model.
/// At Ollama the template of the model decides. Signed or encrypted thinking is always sent back, by the
/// clients whose protocols have it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ThinkingReplay {
    /// No thinking is sent.
    #[default]
    Never,
    /// The thinking since the last user message is sent, so that the model continues where it called a
    /// tool.
    CurrentTurn,
    /// All thinking in the history is sent.
    Always,
}

impl ThinkingReplay {
    /// Returns the number of messages at the beginning of a request that are sent without thinking.
    pub(crate) fn messages_without(self, request: &ChatRequest) -> usize {
        let is_user = |message: &&ChatMessage| matches!(message, ChatMessage::User(_));
        match self {
            Self::Never => usize::MAX,
            Self::Always => 0,
            Self::CurrentTurn => {
                let answer = request.messages().rev().take_while(|message| !is_user(message));
                request.message_count().saturating_sub(answer.count())
            }
        }
    }
}
