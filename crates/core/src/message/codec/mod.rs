//! The JSON form of messages.
//!
//! A message is written in LangChain4j's format, so histories can move in both directions. A list
//! is written with a version: `{"v":1,"messages":[…]}`. Reading also accepts LangChain4j's bare
//! array and its older form of tool results.

mod content;
mod langchain4j;

pub use langchain4j::messages_to_langchain4j_json;

use super::{
    AiMessage, Attributes, ChatMessage, CustomMessage, Messages, ProviderContent, SystemMessage,
    ToolCall, ToolResult, UserMessage,
};
use crate::error::{Error, ErrorKind, Result};
use content::{WireContent, unwire_contents, wire_content};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// The format version that [`messages_to_json`] writes.
pub const FORMAT_VERSION: u32 = 1;

/// Writes messages as JSON with a version marker.
///
/// # Errors
///
/// Currently never fails. The signature leaves room for messages that cannot be serialized.
///
/// # Examples
///
/// ```
/// use ai_services::message::{ChatMessage, messages_from_json, messages_to_json};
///
/// let messages = vec![ChatMessage::user("Hello!"), ChatMessage::ai("Hi.")];
/// let json = messages_to_json(&messages)?;
/// assert!(json.starts_with(r#"{"v":1,"#));
/// assert_eq!(messages_from_json(&json)?.to_vec(), messages);
/// # Ok::<(), ai_services::Error>(())
/// ```
pub fn messages_to_json<'a>(messages: impl IntoIterator<Item = &'a ChatMessage>) -> Result<String> {
    #[derive(Serialize)]
    struct Envelope<'a> {
        v: u32,
        messages: Vec<&'a ChatMessage>,
    }
    let messages = messages.into_iter().collect();
    serde_json::to_string(&Envelope { v: FORMAT_VERSION, messages }).map_err(unwritable)
}

/// Reads the output of [`messages_to_json`], or a list that LangChain4j wrote.
///
/// Empty text and `null` are read as an empty list.
///
/// # Errors
///
/// Returns [`ErrorKind::Store`] for text in any other format, and for a version newer than
/// [`FORMAT_VERSION`].
#[doc(alias = "messagesFromJson")]
pub fn messages_from_json(json: &str) -> Result<Messages> {
    #[derive(Deserialize)]
    struct Envelope<'a> {
        v: u32,
        #[serde(borrow)]
        messages: &'a RawValue,
    }
    let list = match json.trim_start() {
        "" => return Ok(Messages::new()),
        list if list.starts_with('[') => list,
        other => match serde_json::from_str::<Option<Envelope<'_>>>(other).map_err(malformed)? {
            None => return Ok(Messages::new()),
            Some(Envelope { v, .. }) if v > FORMAT_VERSION => return Err(too_new(v)),
            Some(envelope) => envelope.messages.get(),
        },
    };
    serde_json::from_str::<Vec<ChatMessage>>(list).map(Messages::from).map_err(malformed)
}

/// Writes one message as JSON, without a version.
///
/// LangChain4j reads the JSON of most messages; [`messages_to_langchain4j_json`] names the exceptions.
///
/// The same text is written by [`serde_json`] for a [`ChatMessage`].
///
/// # Errors
///
/// Same as [`messages_to_json`].
///
/// # Examples
///
/// ```
/// use ai_services::message::{ChatMessage, message_from_json, message_to_json};
///
/// let message = ChatMessage::ai("Hi.");
/// assert_eq!(message_from_json(&message_to_json(&message)?)?, message);
/// # Ok::<(), ai_services::Error>(())
/// ```
#[doc(alias = "messageToJson")]
pub fn message_to_json(message: &ChatMessage) -> Result<String> {
    serde_json::to_string(message).map_err(unwritable)
}

/// Reads one message that [`message_to_json`] or LangChain4j wrote.
///
/// # Errors
///
/// Returns [`ErrorKind::Store`] for text in any other format.
#[doc(alias = "messageFromJson")]
pub fn message_from_json(json: &str) -> Result<ChatMessage> {
    serde_json::from_str(json).map_err(malformed)
}

fn unwritable(source: serde_json::Error) -> Error {
    Error::new(ErrorKind::Store, "messages cannot be written as JSON").with_source(source)
}

fn malformed(source: serde_json::Error) -> Error {
    Error::new(ErrorKind::Store, "stored messages are not in a known format").with_source(source)
}

fn too_new(version: u32) -> Error {
    Error::new(
        ErrorKind::Store,
        format!(
            "stored messages have format version {version}; this build reads up to {FORMAT_VERSION}"
        ),
    )
}

/// The serialized form of a message. Borrowed when writing, owned when reading.
#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "SCREAMING_SNAKE_CASE")]
enum Wire<'a> {
    System {
        text: Cow<'a, str>,
    },
    User {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<Cow<'a, str>>,
        #[serde(default)]
        contents: Vec<WireContent<'a>>,
        #[serde(default, skip_serializing_if = "WireAttributes::is_empty")]
        attributes: WireAttributes<'a>,
    },
    #[serde(rename_all = "camelCase")]
    Ai {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<Cow<'a, str>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        thinking: Option<Cow<'a, str>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        refusal: Option<Cow<'a, str>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_content: Option<WireProviderContent<'a>>,
        #[serde(default)]
        tool_execution_requests: Vec<WireCall<'a>>,
        #[serde(default)]
        attributes: WireAttributes<'a>,
    },
    #[serde(rename_all = "camelCase")]
    ToolExecutionResult {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<Cow<'a, str>>,
        #[serde(default)]
        tool_name: Cow<'a, str>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        contents: Vec<WireContent<'a>>,
        /// The older form of `contents`.
        #[serde(default, skip_serializing)]
        text: Option<Cow<'a, str>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        is_error: Option<bool>,
        #[serde(default)]
        attributes: WireAttributes<'a>,
    },
    Custom {
        #[serde(default)]
        attributes: WireAttributes<'a>,
    },
}

#[derive(Serialize, Deserialize)]
struct WireCall<'a> {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<Cow<'a, str>>,
    name: Cow<'a, str>,
    #[serde(default)]
    arguments: Option<Cow<'a, str>>,
}

/// An answer in the format of its provider. Its JSON is stored as a text, because `serde` does not
/// preserve raw JSON inside a tagged enum.
#[derive(Serialize, Deserialize)]
struct WireProviderContent<'a> {
    protocol: Cow<'a, str>,
    json: Cow<'a, str>,
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

impl Serialize for ChatMessage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        wire(self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ChatMessage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        unwire(Wire::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

fn wire(message: &ChatMessage) -> Wire<'_> {
    match message {
        ChatMessage::System(message) => Wire::System { text: message.text().into() },
        ChatMessage::User(message) => Wire::User {
            name: message.name().map(Into::into),
            contents: message.contents().iter().map(wire_content).collect(),
            attributes: wire_attributes(message.attributes()),
        },
        ChatMessage::Ai(message) => Wire::Ai {
            text: message.text().map(Into::into),
            thinking: message.thinking().map(Into::into),
            refusal: message.refusal().map(Into::into),
            provider_content: message.provider_content().map(|content| WireProviderContent {
                protocol: content.protocol().into(),
                json: content.json().into(),
            }),
            tool_execution_requests: message.tool_calls().iter().map(wire_call).collect(),
            attributes: wire_attributes(message.attributes()),
        },
        ChatMessage::ToolResult(message) => Wire::ToolExecutionResult {
            id: non_empty(message.id()),
            tool_name: message.tool_name().into(),
            contents: message.contents().iter().map(wire_content).collect(),
            text: None,
            is_error: message.is_error().then_some(true),
            attributes: wire_attributes(message.attributes()),
        },
        ChatMessage::Custom(message) => {
            Wire::Custom { attributes: wire_attributes(Some(message.attributes())) }
        }
    }
}

fn unwire(wire: Wire<'_>) -> Result<ChatMessage, &'static str> {
    Ok(match wire {
        Wire::System { text } => SystemMessage::new(text).into(),
        Wire::User { name, contents, attributes } => {
            let mut message = UserMessage::from_contents(unwire_contents(contents)?);
            if let Some(name) = name {
                message = message.with_name(name);
            }
            if !attributes.is_empty() {
                message = message.with_attributes(attributes.into_map());
            }
            message.into()
        }
        Wire::Ai {
            text,
            thinking,
            refusal,
            provider_content,
            tool_execution_requests,
            attributes,
        } => {
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
                let content = ProviderContent::from_json(protocol.into_owned(), json)
                    .map_err(|_| "the provider's content is not JSON")?;
                message = message.provider_content(content);
            }
            message.build().into()
        }
        Wire::ToolExecutionResult { id, tool_name, contents, text, is_error, attributes } => {
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
            message.into()
        }
        Wire::Custom { attributes } => CustomMessage::new(attributes.into_map()).into(),
    })
}

fn wire_attributes(attributes: Option<&Attributes>) -> WireAttributes<'_> {
    WireAttributes(attributes.map(Cow::Borrowed))
}

fn non_empty(text: &str) -> Option<Cow<'_, str>> {
    (!text.is_empty()).then_some(text.into())
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

#[cfg(test)]
mod tests;
