//! The JSON form of one message.

use super::content::{WireContent, unwire_contents, wire_content};
use super::tagged::{self, Tagged};
use super::text::WireText;
use crate::message::{
    AiMessage, Attributes, ChatMessage, CustomMessage, ProviderContent, SystemMessage, ToolCall,
    ToolResult, UserMessage,
};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;

/// The serialized form of a message.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "SCREAMING_SNAKE_CASE")]
pub(super) enum Wire<'a> {
    System(WireSystem<'a>),
    User(WireUser<'a>),
    Ai(WireAi<'a>),
    ToolExecutionResult(WireToolResult<'a>),
    Custom(WireCustom<'a>),
}

/// The types of messages.
#[derive(Deserialize)]
#[serde(variant_identifier, rename_all = "SCREAMING_SNAKE_CASE")]
pub(super) enum MessageTag {
    System,
    User,
    Ai,
    ToolExecutionResult,
    Custom,
}

#[derive(Serialize, Deserialize)]
pub(super) struct WireSystem<'a> {
    #[serde(borrow)]
    pub(super) text: WireText<'a>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct WireUser<'a> {
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    name: Option<WireText<'a>>,
    #[serde(borrow, default)]
    pub(super) contents: Vec<WireContent<'a>>,
    #[serde(default, skip_serializing_if = "WireAttributes::is_empty")]
    attributes: WireAttributes<'a>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireAi<'a> {
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    text: Option<WireText<'a>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    thinking: Option<WireText<'a>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(super) refusal: Option<WireText<'a>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(super) provider_content: Option<WireProviderContent<'a>>,
    #[serde(borrow, default)]
    tool_execution_requests: Vec<WireCall<'a>>,
    #[serde(default)]
    attributes: WireAttributes<'a>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireToolResult<'a> {
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    id: Option<WireText<'a>>,
    #[serde(borrow, default)]
    tool_name: WireText<'a>,
    #[serde(borrow, default, skip_serializing_if = "Vec::is_empty")]
    pub(super) contents: Vec<WireContent<'a>>,
    /// The older form of `contents`.
    #[serde(borrow, default, skip_serializing)]
    text: Option<WireText<'a>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    is_error: Option<bool>,
    #[serde(default)]
    attributes: WireAttributes<'a>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct WireCustom<'a> {
    #[serde(default)]
    attributes: WireAttributes<'a>,
}

#[derive(Serialize, Deserialize)]
struct WireCall<'a> {
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    id: Option<WireText<'a>>,
    #[serde(borrow)]
    name: WireText<'a>,
    #[serde(borrow, default)]
    arguments: Option<WireText<'a>>,
}

/// An answer in the format of its provider. Its JSON is stored as a text, because `serde` does not
/// preserve raw JSON inside a tagged enum.
#[derive(Serialize, Deserialize)]
pub(super) struct WireProviderContent<'a> {
    #[serde(borrow)]
    protocol: WireText<'a>,
    #[serde(borrow)]
    json: WireText<'a>,
}

/// Attributes. Missing, `null` and `{}` are equivalent.
#[derive(Default)]
struct WireAttributes<'a>(Option<Cow<'a, Attributes>>);

impl WireAttributes<'_> {
    fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|attributes| attributes.is_empty())
    }

    fn into_map(self) -> Attributes {
        self.0.map(Cow::into_owned).unwrap_or_default()
    }
}

impl Serialize for WireAttributes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Some(attributes) => attributes.serialize(serializer),
            None => Attributes::new().serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for WireAttributes<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(Option::<Attributes>::deserialize(deserializer)?.map(Cow::Owned)))
    }
}

impl<'de> Tagged<'de> for Wire<'de> {
    type Tag = MessageTag;

    fn read<D: Deserializer<'de>>(tag: MessageTag, fields: D) -> Result<Self, D::Error> {
        match tag {
            MessageTag::System => Deserialize::deserialize(fields).map(Self::System),
            MessageTag::User => Deserialize::deserialize(fields).map(Self::User),
            MessageTag::Ai => Deserialize::deserialize(fields).map(Self::Ai),
            MessageTag::ToolExecutionResult => {
                Deserialize::deserialize(fields).map(Self::ToolExecutionResult)
            }
            MessageTag::Custom => Deserialize::deserialize(fields).map(Self::Custom),
        }
    }
}

impl Serialize for ChatMessage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        wire(self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ChatMessage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        unwire(tagged::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

pub(super) fn wire(message: &ChatMessage) -> Wire<'_> {
    match message {
        ChatMessage::System(message) => Wire::System(WireSystem { text: message.text().into() }),
        ChatMessage::User(message) => Wire::User(WireUser {
            name: message.name().map(Into::into),
            contents: message.contents().iter().map(wire_content).collect(),
            attributes: wire_attributes(message.attributes()),
        }),
        ChatMessage::Ai(message) => Wire::Ai(WireAi {
            text: message.text().map(Into::into),
            thinking: message.thinking().map(Into::into),
            refusal: message.refusal().map(Into::into),
            provider_content: message.provider_content().map(|content| WireProviderContent {
                protocol: content.protocol().into(),
                json: content.json().into(),
            }),
            tool_execution_requests: message.tool_calls().iter().map(wire_call).collect(),
            attributes: wire_attributes(message.attributes()),
        }),
        ChatMessage::ToolResult(message) => Wire::ToolExecutionResult(WireToolResult {
            id: non_empty(message.id()),
            tool_name: message.tool_name().into(),
            contents: message.contents().iter().map(wire_content).collect(),
            text: None,
            is_error: message.is_error().then_some(true),
            attributes: wire_attributes(message.attributes()),
        }),
        ChatMessage::Custom(message) => {
            Wire::Custom(WireCustom { attributes: wire_attributes(Some(message.attributes())) })
        }
    }
}

fn unwire(wire: Wire<'_>) -> Result<ChatMessage, &'static str> {
    Ok(match wire {
        Wire::System(WireSystem { text }) => SystemMessage::new(text).into(),
        Wire::User(WireUser { name, contents, attributes }) => {
            let mut message = UserMessage::from_contents(unwire_contents(contents)?);
            if let Some(name) = name {
                message = message.with_name(name);
            }
            if !attributes.is_empty() {
                message = message.with_attributes(attributes.into_map());
            }
            message.into()
        }
        Wire::Ai(answer) => unwire_ai(answer)?.into(),
        Wire::ToolExecutionResult(result) => unwire_tool_result(result)?.into(),
        Wire::Custom(WireCustom { attributes }) => CustomMessage::new(attributes.into_map()).into(),
    })
}

fn unwire_ai(answer: WireAi<'_>) -> Result<AiMessage, &'static str> {
    let WireAi { text, thinking, refusal, provider_content, tool_execution_requests, attributes } =
        answer;
    let mut message = AiMessage::builder()
        .tool_calls(tool_execution_requests.into_iter().map(unwire_call))
        .attributes(attributes.into_map());
    if let Some(text) = text {
        message = message.text(text);
    }
    if let Some(thinking) = thinking {
        message = message.thinking(thinking);
    }
    if let Some(refusal) = refusal {
        message = message.refusal(refusal);
    }
    if let Some(WireProviderContent { protocol, json }) = provider_content {
        let content = ProviderContent::from_json(protocol.0.into_owned(), json.0)
            .map_err(|_| "the provider's content is not JSON")?;
        message = message.provider_content(content);
    }
    Ok(message.build())
}

fn unwire_tool_result(result: WireToolResult<'_>) -> Result<ToolResult, &'static str> {
    let WireToolResult { id, tool_name, contents, text, is_error, attributes } = result;
    let id = id.unwrap_or_default();
    let mut message = match text {
        Some(text) if contents.is_empty() => ToolResult::new(id, tool_name, text),
        _ => ToolResult::from_contents(id, tool_name, unwire_contents(contents)?),
    };
    if is_error == Some(true) {
        message = message.into_error();
    }
    if !attributes.is_empty() {
        message = message.with_attributes(attributes.into_map());
    }
    Ok(message)
}

fn wire_attributes(attributes: Option<&Attributes>) -> WireAttributes<'_> {
    WireAttributes(attributes.map(Cow::Borrowed))
}

fn non_empty(text: &str) -> Option<WireText<'_>> {
    (!text.is_empty()).then(|| text.into())
}

fn wire_call(call: &ToolCall) -> WireCall<'_> {
    WireCall {
        id: non_empty(call.id()),
        name: call.name().into(),
        arguments: Some(call.arguments().into()),
    }
}

fn unwire_call(call: WireCall<'_>) -> ToolCall {
    ToolCall::new(call.id.unwrap_or_default(), call.name, call.arguments.unwrap_or_default())
}
