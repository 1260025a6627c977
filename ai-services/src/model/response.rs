//! What a chat model answers.

use super::TokenUsage;
use crate::message::AiMessage;

/// The answer of a chat model.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ChatResponse {
    /// What the model said.
    pub message: AiMessage,
    /// The tokens it cost.
    pub usage: TokenUsage,
    /// Why the model stopped.
    pub finish_reason: Option<FinishReason>,
    /// The model that answered, as the provider names it.
    pub model: Option<Box<str>>,
    /// The provider's id of the answer.
    pub id: Option<Box<str>>,
    /// How many times the request was sent until it was answered, if it went over a network.
    pub attempts: Option<u32>,
}

impl ChatResponse {
    /// An answer of which only the message is known.
    #[must_use]
    pub fn new(message: impl Into<AiMessage>) -> Self {
        Self {
            message: message.into(),
            usage: TokenUsage::default(),
            finish_reason: None,
            model: None,
            id: None,
            attempts: None,
        }
    }

    /// The same answer with its cost.
    #[must_use]
    pub fn with_usage(mut self, usage: TokenUsage) -> Self {
        self.usage = usage;
        self
    }

    /// The same answer with the reason why it ended.
    #[must_use]
    pub fn with_finish_reason(mut self, reason: FinishReason) -> Self {
        self.finish_reason = Some(reason);
        self
    }
}

/// Why a model stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FinishReason {
    /// It had said all it wanted, or met a stop text.
    Stop,
    /// It reached the longest allowed answer, so the text is incomplete.
    Length,
    /// It wants to call tools, or a tool's result ended the turn.
    ToolExecution,
    /// The provider's filter stopped it.
    ContentFilter,
    /// A reason that only this provider knows, in its words.
    Other(Box<str>),
}

impl FinishReason {
    /// The reason in the words of OpenAI's protocol, or of the provider.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::ToolExecution => "tool_calls",
            Self::ContentFilter => "content_filter",
            Self::Other(reason) => reason,
        }
    }
}
