//! The message of the model.

use super::Attributes;
use super::cache::{Cached, SharedData};
use super::tool::ToolCall;
use crate::error::{Error, ErrorKind, Result};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// A message of the model: a text, tool calls, or both.
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
pub struct AiMessage(SharedData<AiData>);

#[derive(Clone, Debug, Default, PartialEq)]
struct AiData {
    text: Option<Box<str>>,
    rest: Option<Box<RareFields>>,
}

/// Fields that most messages do not have, behind a pointer of their own.
#[derive(Clone, Debug, Default, PartialEq)]
struct RareFields {
    tool_calls: Box<[ToolCall]>,
    thinking: Option<Box<str>>,
    refusal: Option<Box<str>>,
    provider_content: Option<ProviderContent>,
    attributes: Attributes,
}

impl AiMessage {
    /// Creates a message with one text.
    #[must_use]
    pub fn new(text: impl Into<Box<str>>) -> Self {
        Self(SharedData::new(AiData { text: Some(text.into()), rest: None }))
    }

    /// Starts building a message with tool calls or thinking.
    pub fn builder() -> AiMessageBuilder {
        AiMessageBuilder::default()
    }

    /// Returns the text. A message that only calls tools usually has none.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        self.0.text.as_deref()
    }

    /// Returns the model's thinking before the answer, if the provider reports it.
    #[must_use]
    pub fn thinking(&self) -> Option<&str> {
        self.0.rest.as_ref()?.thinking.as_deref()
    }

    /// Returns the model's explanation for refusing to answer, if it refused.
    #[must_use]
    pub fn refusal(&self) -> Option<&str> {
        self.0.rest.as_ref()?.refusal.as_deref()
    }

    /// Returns the answer in the provider's own format, if that contains more than this message
    /// can: the order of thinking, texts and calls, signatures, or encrypted reasoning.
    ///
    /// Clients of the same protocol send it back unchanged. All other clients ignore it.
    #[must_use]
    pub fn provider_content(&self) -> Option<&ProviderContent> {
        self.0.rest.as_ref()?.provider_content.as_ref()
    }

    /// Returns the requested tool calls, in the model's order.
    #[must_use]
    #[doc(alias = "toolExecutionRequests")]
    pub fn tool_calls(&self) -> &[ToolCall] {
        self.0.rest.as_ref().map_or(&[], |rest| &rest.tool_calls)
    }

    /// Returns the text, if the message has nothing else.
    pub(super) fn only_text(&self) -> Option<&str> {
        self.text().filter(|_| self.0.rest.is_none())
    }

    /// Returns the application's data.
    #[must_use]
    pub fn attributes(&self) -> Option<&Attributes> {
        self.0.rest.as_ref().map(|rest| &rest.attributes).filter(|a| !a.is_empty())
    }

    /// Replaces the tool calls. Removes the [`provider_content`](Self::provider_content), which
    /// would contradict them.
    #[must_use]
    pub fn with_tool_calls(self, tool_calls: Vec<ToolCall>) -> Self {
        let AiData { text, rest } = self.without_provider_content();
        let mut rest = rest.map(|rest| *rest).unwrap_or_default();
        rest.tool_calls = tool_calls.into_boxed_slice();
        Self(SharedData::new(AiData { text, rest: rest.into_some() }))
    }

    /// Replaces the text. Removes the [`provider_content`](Self::provider_content), which would
    /// contradict it.
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
        Self(SharedData::new(AiData { text, ..self.without_provider_content() }))
    }

    fn without_provider_content(self) -> AiData {
        let mut data = self.0.into_data();
        if let Some(rest) = &mut data.rest {
            rest.provider_content = None;
        }
        data.rest = data.rest.filter(|rest| !rest.is_empty());
        data
    }

    pub(super) fn cached(&self) -> &Cached {
        self.0.cached()
    }
}

impl RareFields {
    fn is_empty(&self) -> bool {
        let Self { tool_calls, thinking, refusal, provider_content, attributes } = self;
        tool_calls.is_empty()
            && thinking.is_none()
            && refusal.is_none()
            && provider_content.is_none()
            && attributes.is_empty()
    }

    fn into_some(self) -> Option<Box<Self>> {
        (!self.is_empty()).then(|| Box::new(self))
    }
}

/// An answer, or a part of one, in the format of its protocol.
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
    /// Creates content in the format of `protocol` from JSON.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::InvalidResponse`] if the text is not JSON.
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

    /// Returns the name of the protocol, for example `anthropic`.
    #[must_use]
    pub fn protocol(&self) -> &str {
        &self.protocol
    }

    /// Returns the content as JSON.
    #[must_use]
    pub fn json(&self) -> &str {
        self.json.get()
    }

    /// Returns the content as JSON, if it is in this protocol.
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
    rest: RareFields,
}

impl AiMessageBuilder {
    /// Sets the text.
    pub fn text(mut self, text: impl Into<Box<str>>) -> Self {
        self.text = Some(text.into());
        self
    }

    /// Sets the model's thinking.
    pub fn thinking(mut self, thinking: impl Into<Box<str>>) -> Self {
        self.rest.thinking = Some(thinking.into());
        self
    }

    /// Sets the model's explanation for refusing.
    pub fn refusal(mut self, refusal: impl Into<Box<str>>) -> Self {
        self.rest.refusal = Some(refusal.into());
        self
    }

    /// Sets the answer in the provider's own format. Its content must match the message.
    pub fn provider_content(mut self, content: ProviderContent) -> Self {
        self.rest.provider_content = Some(content);
        self
    }

    /// Sets the tool calls.
    pub fn tool_calls(mut self, calls: impl IntoIterator<Item = ToolCall>) -> Self {
        self.rest.tool_calls = calls.into_iter().collect();
        self
    }

    /// Sets the application's data.
    pub fn attributes(mut self, attributes: Attributes) -> Self {
        self.rest.attributes = attributes;
        self
    }

    /// Builds the message.
    #[must_use]
    pub fn build(self) -> AiMessage {
        AiMessage(SharedData::new(AiData { text: self.text, rest: self.rest.into_some() }))
    }
}
