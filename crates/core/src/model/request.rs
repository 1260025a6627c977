//! The request to a chat model.

use super::{ChatRequestParameters, ToolSpecifications};
use crate::message::{ChatMessage, Messages};
use std::sync::Arc;

/// A request to a chat model: messages, tools, parameters.
///
/// # Examples
///
/// ```
/// use ai_services::message::ChatMessage;
/// use ai_services::model::{ChatRequest, ChatRequestParameters};
///
/// let request = ChatRequest::builder()
///     .messages([ChatMessage::system("Be brief."), ChatMessage::user("Hello!")])
///     .parameters(ChatRequestParameters::new().temperature(0.0))
///     .build();
/// assert_eq!(request.messages().count(), 2);
/// ```
#[derive(Clone, Debug, Default)]
pub struct ChatRequest {
    #[doc(hidden)]
    pub system: Option<ChatMessage>,
    /// The messages before this turn, shared with the memory that loaded them.
    #[doc(hidden)]
    pub history: Messages,
    /// Number of oldest messages of `history` that are not sent.
    #[doc(hidden)]
    pub skipped: usize,
    /// The messages of this turn.
    #[doc(hidden)]
    pub turn: Vec<ChatMessage>,
    #[doc(hidden)]
    pub tools: ToolSpecifications,
    #[doc(hidden)]
    pub parameters: Arc<ChatRequestParameters>,
    #[doc(hidden)]
    pub is_retry: bool,
}

impl ChatRequest {
    /// Creates a request with these messages and without tools or parameters.
    #[must_use]
    pub fn new(messages: impl IntoIterator<Item = ChatMessage>) -> Self {
        Self { turn: messages.into_iter().collect(), ..Self::default() }
    }

    /// Starts building a request.
    pub fn builder() -> ChatRequestBuilder {
        ChatRequestBuilder::default()
    }

    /// Returns all messages in the order in which they are sent.
    pub fn messages(&self) -> impl DoubleEndedIterator<Item = &ChatMessage> + Clone {
        self.system.iter().chain(self.history.iter_from(self.skipped)).chain(&self.turn)
    }

    /// Returns the number of messages.
    #[must_use]
    pub fn message_count(&self) -> usize {
        let history = self.history.len().saturating_sub(self.skipped);
        usize::from(self.system.is_some()) + history + self.turn.len()
    }

    /// Returns the tools that the model may call.
    #[must_use]
    pub fn tools(&self) -> &ToolSpecifications {
        &self.tools
    }

    /// Returns the parameters.
    #[must_use]
    pub fn parameters(&self) -> &ChatRequestParameters {
        &self.parameters
    }

    /// Returns `true` if an answer to this request was rejected, for example by an output guardrail that
    /// returned [`OutputVerdict::Retry`](crate::guardrail::OutputVerdict::Retry).
    ///
    /// A model with a cache must not answer such a request from its cache.
    #[must_use]
    pub fn is_retry(&self) -> bool {
        self.is_retry
    }
}

/// Builds a [`ChatRequest`].
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct ChatRequestBuilder(ChatRequest);

impl ChatRequestBuilder {
    /// Sets the messages.
    pub fn messages(mut self, messages: impl IntoIterator<Item = ChatMessage>) -> Self {
        self.0.turn = messages.into_iter().collect();
        self
    }

    /// Sets the system message, which comes before all other messages.
    pub fn system(mut self, text: impl Into<Box<str>>) -> Self {
        self.0.system = Some(ChatMessage::system(text));
        self
    }

    /// Sets the earlier messages, which come before [`messages`](Self::messages). The list is
    /// shared, not copied.
    pub fn history(mut self, history: Messages) -> Self {
        self.0.history = history;
        self
    }

    /// Sets the tools that the model may call.
    pub fn tools(mut self, tools: impl Into<ToolSpecifications>) -> Self {
        self.0.tools = tools.into();
        self
    }

    /// Sets the parameters.
    pub fn parameters(mut self, parameters: ChatRequestParameters) -> Self {
        self.0.parameters = Arc::new(parameters);
        self
    }

    /// Builds the request.
    #[must_use]
    pub fn build(self) -> ChatRequest {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_in_conversation_order() {
        let history = [ChatMessage::user("1"), ChatMessage::ai("2")];
        let request = ChatRequest::builder()
            .messages([ChatMessage::user("3")])
            .history(history.into_iter().collect())
            .system("0")
            .build();
        let texts: Vec<_> = request.messages().filter_map(ChatMessage::text).collect();
        assert_eq!((texts.concat().as_str(), request.message_count()), ("0123", 4));
    }
}
