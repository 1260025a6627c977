//! Whether a model sees what it thought before.

use ai_services_core::message::ChatMessage;
use ai_services_core::model::ChatRequest;

/// Whether the model's earlier thinking is sent back to it, for protocols in which thinking is a text
/// beside the answer.
///
/// Most servers of chat completions refuse or ignore it. Those of models that think between tool calls
/// want it for the turn in which they think, or answer worse without: DeepSeek, Kimi, GLM, and vLLM with
/// such a model. Ollama leaves it to the template of the model. Thoughts that carry a signature or are
/// encrypted are always sent back, by the clients whose protocols have them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ThinkingReplay {
    /// No thinking is sent.
    #[default]
    Never,
    /// The thinking since the last user message is sent, so that the model goes on where it was when it
    /// called a tool.
    CurrentTurn,
    /// All thinking that the history still has is sent.
    Always,
}

impl ThinkingReplay {
    /// How many messages at the beginning of a request are sent without thinking.
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
