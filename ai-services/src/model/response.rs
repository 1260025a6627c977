//! What a chat model answers.

use super::{AnswerOrigin, TokenUsage};
use crate::error::BoxError;
use crate::message::{AiMessage, ToolCall};
use std::error::Error as StdError;
use std::fmt;

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
    /// Who answered: the model at once, after attempts that failed, or a cache.
    pub origin: AnswerOrigin,
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
            origin: AnswerOrigin::Model,
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

/// What had come of a streamed answer when it failed.
///
/// A [detail](crate::Error::detail) of the error that ends a stream whose answer had begun: because
/// the connection broke, a time passed, the provider reported an error, or the answer just ended.
/// Tool calls may be incomplete and must not be executed.
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
    /// The text so far.
    pub text: String,
    /// The thinking so far.
    pub thinking: String,
    /// The tool calls so far; the arguments of the last one are usually cut off.
    pub tool_calls: Vec<ToolCall>,
    source: Option<BoxError>,
}

impl PartialAnswer {
    /// The beginning of a text.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// The same with what the model had thought.
    #[must_use]
    pub fn with_thinking(mut self, thinking: impl Into<String>) -> Self {
        self.thinking = thinking.into();
        self
    }

    /// The same with the calls that the model had begun.
    #[must_use]
    pub fn with_tool_calls(mut self, calls: impl IntoIterator<Item = ToolCall>) -> Self {
        self.tool_calls = calls.into_iter().collect();
        self
    }

    /// Keeps what caused the failure.
    #[cfg(feature = "_provider")]
    pub(crate) fn with_source(mut self, source: Option<BoxError>) -> Self {
        self.source = source;
        self
    }
}

/// Sizes only: what was said belongs into no log.
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
        write!(f, "{bytes} bytes of text and {calls} tool calls had come")
    }
}

impl StdError for PartialAnswer {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as _)
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
