//! The answer of a chat model.

use super::{AnswerOrigin, TokenUsage};
use crate::error::BoxError;
use crate::message::{AiMessage, ToolCall};
use std::error::Error as StdError;
use std::fmt;

/// The answer of a chat model.
#[derive(Clone, Debug, PartialEq)]
pub struct ChatResponse {
    /// The message of the model.
    pub message: AiMessage,
    /// The tokens used.
    pub usage: TokenUsage,
    /// The reason why the answer ended.
    pub finish_reason: Option<FinishReason>,
    /// The name of the model that answered, as reported by the provider.
    pub model: Option<Box<str>>,
    /// The provider's id of the answer.
    pub id: Option<Box<str>>,
    /// Number of times the request was sent until it was answered, if it was sent over a network.
    pub attempts: Option<u32>,
    /// The origin of the answer: the first request, a later attempt, or a cache.
    pub origin: AnswerOrigin,
}

impl ChatResponse {
    /// Creates an answer with only a message.
    #[must_use]
    pub fn new(message: impl Into<AiMessage>) -> Self {
        Self {
            message: message.into(),
            usage: TokenUsage::default(),
            finish_reason: None,
            model: None,
            id: None,
            attempts: None,
            origin: AnswerOrigin::Model,
        }
    }

    /// Sets the token usage.
    #[must_use]
    pub fn with_usage(mut self, usage: TokenUsage) -> Self {
        self.usage = usage;
        self
    }

    /// Sets the reason why the answer ended.
    #[must_use]
    pub fn with_finish_reason(mut self, reason: FinishReason) -> Self {
        self.finish_reason = Some(reason);
        self
    }
}

/// The part of a streamed answer that had arrived when the stream failed.
///
/// A [detail](crate::Error::detail) of the error that ends a stream after the answer had begun: the
/// connection broke, a time limit was exceeded, the provider reported an error, or the stream ended
/// early. Tool calls may be incomplete and must not be executed.
///
/// # Examples
///
/// ```
/// use ai_services::model::PartialAnswer;
/// use ai_services::{Error, ErrorKind};
///
/// let error = Error::new(ErrorKind::Connection, "the connection broke")
///     .with_source(PartialAnswer::new("Once upon a"));
/// let so_far = error.detail::<PartialAnswer>().map(|partial| partial.text.as_str());
/// assert_eq!(so_far, Some("Once upon a"));
/// ```
#[derive(Default)]
#[non_exhaustive]
pub struct PartialAnswer {
    /// The text received so far.
    pub text: String,
    /// The thinking received so far.
    pub thinking: String,
    /// The tool calls received so far. The arguments of the last one are usually incomplete.
    pub tool_calls: Vec<ToolCall>,
    source: Option<BoxError>,
}

impl PartialAnswer {
    /// Creates a partial answer with a text.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// Sets the thinking received so far.
    #[must_use]
    pub fn with_thinking(mut self, thinking: impl Into<String>) -> Self {
        self.thinking = thinking.into();
        self
    }

    /// Sets the tool calls received so far.
    #[must_use]
    pub fn with_tool_calls(mut self, calls: impl IntoIterator<Item = ToolCall>) -> Self {
        self.tool_calls = calls.into_iter().collect();
        self
    }

    /// Sets the cause of the failure.
    #[doc(hidden)]
    #[must_use]
    pub fn with_source(mut self, source: Option<BoxError>) -> Self {
        self.source = source;
        self
    }
}

/// Prints sizes only, because the content of conversations does not belong in logs.
impl fmt::Debug for PartialAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("PartialAnswer");
        out.field("text_bytes", &self.text.len())
            .field("thinking_bytes", &self.thinking.len())
            .field("tool_calls", &self.tool_calls.len());
        if let Some(source) = &self.source {
            out.field("source", source);
        }
        out.finish()
    }
}

impl fmt::Display for PartialAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (bytes, calls) = (self.text.len(), self.tool_calls.len());
        write!(f, "{bytes} bytes of text and {calls} tool calls were received")
    }
}

impl StdError for PartialAnswer {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

/// The reason why an answer ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FinishReason {
    /// The model finished its answer, or reached a stop text.
    Stop,
    /// The answer reached the token limit, so the text is incomplete.
    Length,
    /// The model requests tool calls, or the result of a tool ended the turn.
    ToolExecution,
    /// The provider's content filter stopped the answer.
    ContentFilter,
    /// A reason of a particular provider, by its name.
    Other(Box<str>),
}

impl FinishReason {
    /// Returns the reason as OpenAI's protocol names it, or for `Other` as the provider does.
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
