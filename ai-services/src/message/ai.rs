//! What the model said.

use super::Attributes;
use super::cache::{Cached, Shared};
use super::tool::ToolCall;
use crate::error::{Error, ErrorKind, Result};
use serde_json::value::RawValue;
use std::borrow::Cow;

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
    provider_content: Option<ProviderContent>,
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

    /// The same answer in the words of the provider that gave it, where it says more than this message
    /// can: the order of thoughts, texts and calls, signatures, encrypted reasoning.
    ///
    /// Clients of the same protocol send it back as it is, all others ignore it.
    #[must_use]
    pub fn provider_content(&self) -> Option<&ProviderContent> {
        self.0.rest.as_ref()?.provider_content.as_ref()
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

    /// The same message with other tool calls. It loses its
    /// [`provider_content`](Self::provider_content), which would contradict them.
    #[must_use]
    pub fn with_tool_calls(self, tool_calls: Vec<ToolCall>) -> Self {
        let tool_calls = tool_calls.into_boxed_slice();
        Self(Shared::new(Ai { tool_calls, ..self.without_provider_content() }))
    }

    /// The same message with another text. It loses its
    /// [`provider_content`](Self::provider_content), which would contradict it.
    ///
    /// ```
    /// use ai_services::message::{AiMessage, ProviderContent};
    ///
    /// let own = ProviderContent::from_json("anthropic", r#"[{"type":"text","text":"It is 1234."}]"#)?;
    /// let message = AiMessage::builder().text("It is 1234.").thinking("The PIN?").provider_content(own);
    /// let message = message.build().with_text("It is ****.");
    /// assert_eq!((message.text(), message.thinking()), (Some("It is ****."), Some("The PIN?")));
    /// assert!(message.provider_content().is_none());
    /// # Ok::<(), ai_services::Error>(())
    /// ```
    #[must_use]
    pub fn with_text(self, text: impl Into<Box<str>>) -> Self {
        let text = Some(text.into());
        Self(Shared::new(Ai { text, ..self.without_provider_content() }))
    }

    fn without_provider_content(self) -> Ai {
        let mut data = self.0.into_data();
        if let Some(rest) = &mut data.rest {
            rest.provider_content = None;
        }
        data.rest = data.rest.filter(|rest| **rest != Rest::default());
        data
    }

    pub(super) fn cached(&self) -> &Cached {
        self.0.cached()
    }
}

/// An answer, or a part of one, in the words of the protocol in which it came.
///
/// # Examples
///
/// ```
/// use ai_services::message::{AiMessage, ProviderContent};
///
/// let blocks = r#"[{"type":"thinking","thinking":"…","signature":"c2ln"},{"type":"text","text":"4"}]"#;
/// let content = ProviderContent::from_json("anthropic", blocks)?;
/// let message = AiMessage::builder().text("4").provider_content(content).build();
/// assert_eq!(message.provider_content().map(|content| content.json()), Some(blocks));
/// # Ok::<(), ai_services::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ProviderContent {
    protocol: Cow<'static, str>,
    json: Box<RawValue>,
}

impl ProviderContent {
    /// What was said in `protocol`, as JSON.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidResponse`] if the text is not JSON.
    pub fn from_json(
        protocol: impl Into<Cow<'static, str>>,
        json: impl Into<String>,
    ) -> Result<Self> {
        let json = RawValue::from_string(json.into()).map_err(|source| {
            let error =
                Error::new(ErrorKind::InvalidResponse, "the provider's content is not JSON");
            error.with_source(source)
        })?;
        Ok(Self { protocol: protocol.into(), json })
    }

    /// The name of the protocol, for example `anthropic`.
    #[must_use]
    pub fn protocol(&self) -> &str {
        &self.protocol
    }

    /// What was said, as JSON.
    #[must_use]
    pub fn json(&self) -> &str {
        self.json.get()
    }

    /// What was said, if it was said in this protocol.
    #[must_use]
    pub fn json_of(&self, protocol: &str) -> Option<&str> {
        (self.protocol == protocol).then(|| self.json.get())
    }
}

impl PartialEq for ProviderContent {
    fn eq(&self, other: &Self) -> bool {
        self.protocol == other.protocol && self.json() == other.json()
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

    /// Sets what the provider said in its own words. It must say the same as the message.
    pub fn provider_content(mut self, content: ProviderContent) -> Self {
        self.rest.provider_content = Some(content);
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
