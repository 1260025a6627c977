//! The answer of a chat model.

use super::TokenUsage;
use super::attempts::{FailedAttempt, ModelUsage};
use super::cached_copy::CachedCopy;
use crate::error::{BoxError, Result};
use crate::message::{AiMessage, ToolCall};
use serde::{Deserialize, Serialize};
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
    /// The copy of the answer in a cache.
    #[doc(hidden)]
    pub cached_copy: Option<CachedCopy>,
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
            cached_copy: None,
        }
    }

    /// Removes the answer from the cache that holds a copy of it, because it was rejected.
    #[doc(hidden)]
    pub async fn discard_copy(&self) -> Result<()> {
        match &self.cached_copy {
            Some(copy) => copy.discard().await,
            None => Ok(()),
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

    /// Returns the usage of the response by model. `model` is the name of the model that was called.
    #[doc(hidden)]
    #[must_use]
    pub fn usage_by_model(&self, model: &str) -> Vec<ModelUsage> {
        match &self.origin {
            AnswerOrigin::Model => {
                vec![ModelUsage::new(self.model.as_deref().unwrap_or(model), self.usage)]
            }
            AnswerOrigin::Attempts(usages) => usages.clone(),
            AnswerOrigin::Cache => Vec::new(),
        }
    }

    /// Adds the usage and the number of failed attempts that came before this answer of `model`.
    pub(crate) fn after(mut self, failed: &[FailedAttempt], model: &str) -> Self {
        if failed.is_empty() {
            return self;
        }
        let own = self.usage_by_model(model);
        let earlier =
            failed.iter().flat_map(|attempt| ModelUsage::of_error(&attempt.error, &attempt.model));
        let mut usages: Vec<ModelUsage> = earlier.collect();
        if !usages.is_empty() {
            usages.extend(own);
            self.usage = usages.iter().fold(TokenUsage::default(), |sum, one| sum + one.usage);
            self.origin = AnswerOrigin::Attempts(usages);
        }
        let sent = failed.iter().map(FailedAttempt::send_count).fold(0, u32::saturating_add);
        self.attempts = Some(self.attempts.unwrap_or(1).saturating_add(sent));
        self
    }
}

/// The origin of an answer.
///
/// # Examples
///
/// ```
/// use ai_services::message::AiMessage;
/// use ai_services::model::{AnswerOrigin, ChatResponse};
///
/// let response = ChatResponse::new(AiMessage::new("Hi."));
/// assert_eq!(response.origin, AnswerOrigin::Model);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum AnswerOrigin {
    /// The model answered the first request. All of the usage belongs to this answer.
    #[default]
    Model,
    /// The model answered after failed attempts. The usage of the response is the sum of these
    /// usages. The last one belongs to the answer itself.
    Attempts(Vec<ModelUsage>),
    /// The answer came from a cache. No model was called, and the answer cost no tokens.
    Cache,
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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

#[cfg(test)]
mod tests {
    use super::super::attempts::FailedAttempts;
    use super::*;
    use crate::error::{Error, ErrorKind};

    fn failed(model: &str, tokens: u64) -> FailedAttempt {
        let error = Error::new(ErrorKind::Unavailable, "down");
        FailedAttempt::new(model, error.with_usage(TokenUsage::new(tokens, 0)))
    }

    #[test]
    fn usage_of_nested_attempts_is_counted_once() {
        let inner = FailedAttempts::into_error(vec![failed("a", 1)], failed("b", 2));
        assert_eq!(inner.usage(), Some(&TokenUsage::new(3, 0)));
        let outer = FailedAttempt::new("a", inner);
        let response = ChatResponse::new(AiMessage::new("x")).with_usage(TokenUsage::new(10, 5));
        let response = response.after(&[outer], "c");
        assert_eq!((response.usage, response.attempts), (TokenUsage::new(13, 5), Some(3)));
        let AnswerOrigin::Attempts(usages) = response.origin else { panic!("no attempts") };
        let expected = [("a", 1, 0), ("b", 2, 0), ("c", 10, 5)];
        assert_eq!(usages, expected.map(|(m, i, o)| ModelUsage::new(m, TokenUsage::new(i, o))));
    }
}
