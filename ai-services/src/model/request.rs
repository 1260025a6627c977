//! What is sent to a chat model.

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
    pub(crate) system: Option<ChatMessage>,
    /// What was said before this turn, shared with the memory it came from.
    pub(crate) history: Messages,
    /// How many of the oldest messages of `history` are not sent.
    pub(crate) skipped: usize,
    /// What is said in this turn.
    pub(crate) turn: Vec<ChatMessage>,
    pub(crate) tools: ToolSpecifications,
    pub(crate) parameters: Arc<ChatRequestParameters>,
}

impl ChatRequest {
    /// A request of these messages, without tools or parameters.
    #[must_use]
    pub fn new(messages: impl IntoIterator<Item = ChatMessage>) -> Self {
        Self { turn: messages.into_iter().collect(), ..Self::default() }
    }

    /// Starts a request.
    pub fn builder() -> ChatRequestBuilder {
        ChatRequestBuilder::default()
    }

    /// All messages in the order in which the model sees them.
    pub fn messages(&self) -> impl DoubleEndedIterator<Item = &ChatMessage> + Clone {
        self.system.iter().chain(self.history.iter_from(self.skipped)).chain(&self.turn)
    }

    /// How many messages there are.
    #[must_use]
    pub fn message_count(&self) -> usize {
        let history = self.history.len().saturating_sub(self.skipped);
        usize::from(self.system.is_some()) + history + self.turn.len()
    }

    /// The tools that the model may call.
    #[must_use]
    pub fn tools(&self) -> &ToolSpecifications {
        &self.tools
    }

    /// The parameters.
    #[must_use]
    pub fn parameters(&self) -> &ChatRequestParameters {
        &self.parameters
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

    /// Sets the message that comes before all others.
    pub fn system(mut self, text: impl Into<Box<str>>) -> Self {
        self.0.system = Some(ChatMessage::system(text));
        self
    }

    /// Sets what was said before [`messages`](Self::messages). The list is shared, not copied.
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

    /// The request.
    #[must_use]
    pub fn build(self) -> ChatRequest {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_come_in_the_order_of_a_conversation() {
        let said = [ChatMessage::user("1"), ChatMessage::ai("2")];
        let request = ChatRequest::builder()
            .messages([ChatMessage::user("3")])
            .history(said.into_iter().collect())
            .system("0")
            .build();
        let texts: Vec<_> = request.messages().filter_map(ChatMessage::text).collect();
        assert_eq!((texts.concat().as_str(), request.message_count()), ("0123", 4));
    }
}
