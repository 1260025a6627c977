//! What the model said.

use super::Attributes;
use super::cache::{Cached, Shared};
use super::tool::ToolCall;

/// What the model said: a text, tool calls, or both.
///
/// # Examples
///
/// ```
/// use ai_services::message::{AiMessage, ToolCall};
///
/// let message = AiMessage::builder()
///     .text("Let me look.")
///     .tool_calls([ToolCall::new("call-1", "weather", r#"{"city":"Oslo"}"#)])
///     .build();
/// assert_eq!(message.tool_calls()[0].name(), "weather");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct AiMessage(Shared<Ai>);

#[derive(Clone, Debug, Default, PartialEq)]
struct Ai {
    text: Option<Box<str>>,
    tool_calls: Box<[ToolCall]>,
    rest: Option<Box<Rest>>,
}

/// What most messages do not have.
#[derive(Clone, Debug, Default, PartialEq)]
struct Rest {
    thinking: Option<Box<str>>,
    refusal: Option<Box<str>>,
    attributes: Attributes,
}

impl AiMessage {
    /// A message of one text.
    #[must_use]
    pub fn new(text: impl Into<Box<str>>) -> Self {
        Self(Shared::new(Ai { text: Some(text.into()), ..Ai::default() }))
    }

    /// Starts a message with tool calls or thinking.
    pub fn builder() -> AiMessageBuilder {
        AiMessageBuilder::default()
    }

    /// The text. A message that only calls tools usually has none.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        self.0.text.as_deref()
    }

    /// What the model thought before it answered, if the provider tells.
    #[must_use]
    pub fn thinking(&self) -> Option<&str> {
        self.0.rest.as_ref()?.thinking.as_deref()
    }

    /// Why the model refused to answer, if it did.
    #[must_use]
    pub fn refusal(&self) -> Option<&str> {
        self.0.rest.as_ref()?.refusal.as_deref()
    }

    /// The tools that the model wants to call, in its order.
    #[must_use]
    #[doc(alias = "toolExecutionRequests")]
    pub fn tool_calls(&self) -> &[ToolCall] {
        &self.0.tool_calls
    }

    /// The application's data.
    #[must_use]
    pub fn attributes(&self) -> Option<&Attributes> {
        self.0.rest.as_ref().map(|rest| &rest.attributes).filter(|a| !a.is_empty())
    }

    /// The same message with other tool calls.
    #[must_use]
    pub fn with_tool_calls(self, tool_calls: Vec<ToolCall>) -> Self {
        Self(Shared::new(Ai { tool_calls: tool_calls.into_boxed_slice(), ..self.0.into_data() }))
    }

    pub(super) fn cached(&self) -> &Cached {
        self.0.cached()
    }
}

/// Builds an [`AiMessage`].
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct AiMessageBuilder {
    text: Option<Box<str>>,
    tool_calls: Vec<ToolCall>,
    rest: Rest,
}

impl AiMessageBuilder {
    /// Sets the text.
    pub fn text(mut self, text: impl Into<Box<str>>) -> Self {
        self.text = Some(text.into());
        self
    }

    /// Sets what the model thought.
    pub fn thinking(mut self, thinking: impl Into<Box<str>>) -> Self {
        self.rest.thinking = Some(thinking.into());
        self
    }

    /// Sets why the model refused.
    pub fn refusal(mut self, refusal: impl Into<Box<str>>) -> Self {
        self.rest.refusal = Some(refusal.into());
        self
    }

    /// Sets the tool calls.
    pub fn tool_calls(mut self, calls: impl IntoIterator<Item = ToolCall>) -> Self {
        self.tool_calls = calls.into_iter().collect();
        self
    }

    /// Sets application data.
    pub fn attributes(mut self, attributes: Attributes) -> Self {
        self.rest.attributes = attributes;
        self
    }

    /// The message.
    #[must_use]
    pub fn build(self) -> AiMessage {
        let rest = (self.rest != Rest::default()).then(|| Box::new(self.rest));
        AiMessage(Shared::new(Ai {
            text: self.text,
            tool_calls: self.tool_calls.into_boxed_slice(),
            rest,
        }))
    }
}
