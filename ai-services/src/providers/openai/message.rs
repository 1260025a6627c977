//! Messages as the protocol writes them.

use super::part::{self, Body};
use crate::error::{Error, ErrorKind};
use crate::message::{AiMessage, ChatMessage, ToolCall, ToolResult};
use crate::providers::protocol::arguments::object;
use serde::{Serialize, Serializer};

/// How a message is written. Encoded messages are kept with it and shared by all servers, so nothing
/// else here may depend on options.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Form {
    Plain,
    /// With what the model thought.
    Thinking,
}

impl Form {
    /// This form, if it makes a difference for a message.
    pub(super) fn of(self, message: &ChatMessage) -> Self {
        match message {
            ChatMessage::Ai(message) if message.thinking().is_some() => self,
            _ => Self::Plain,
        }
    }

    /// The name under which messages in this form are kept.
    pub(super) fn dialect(self) -> &'static str {
        match self {
            Self::Plain => "openai-chat",
            Self::Thinking => "openai-chat-thinking",
        }
    }
}

/// A message as JSON; empty if the protocol cannot carry it, which [`unsupported`] explains. Of a
/// tool's result the media follow in another line, see [`split`].
pub(super) fn encode(message: &ChatMessage, form: Form) -> Vec<u8> {
    try_encode(message, form).unwrap_or_default()
}

/// The error for a message that [`encode`] refused.
pub(super) fn unsupported(message: &ChatMessage) -> Error {
    let why =
        try_encode(message, Form::Plain).err().unwrap_or("the message cannot be written as JSON");
    Error::new(ErrorKind::Unsupported, why)
}

/// An encoded message, and the parts of a user message that have to be said after it: the media of a
/// tool's result, with commas in between. Mostly there are none.
pub(super) fn split<'a>(message: &ChatMessage, encoded: &'a [u8]) -> (&'a [u8], &'a [u8]) {
    // JSON without blanks has no line breaks.
    let end = match media_result(message) {
        Some(_) => encoded.iter().position(|byte| *byte == b'\n'),
        None => None,
    };
    match end.and_then(|end| encoded.split_at_checked(end)) {
        Some((message, [_, parts @ ..])) => (message, parts),
        _ => (encoded, &[]),
    }
}

fn try_encode(message: &ChatMessage, form: Form) -> Result<Vec<u8>, &'static str> {
    let mut wire = wire(message)?;
    if let (Wire::Message(wire), ChatMessage::Ai(message), Form::Thinking) =
        (&mut wire, message, form)
    {
        wire.reasoning_content = message.thinking();
    }
    let mut out = Vec::with_capacity(wire.size());
    write(&mut out, &wire)?;
    if let Some(result) = media_result(message) {
        for (index, part) in part::attached(result)?.iter().enumerate() {
            out.push(if index == 0 { b'\n' } else { b',' });
            write(&mut out, part)?;
        }
    }
    Ok(out)
}

fn write(out: &mut Vec<u8>, value: &impl Serialize) -> Result<(), &'static str> {
    serde_json::to_writer(out, value).map_err(|_| "the message cannot be written as JSON")
}

/// The message, if it is a tool's result that is not only text.
fn media_result(message: &ChatMessage) -> Option<&ToolResult> {
    match message {
        ChatMessage::ToolResult(result) => {
            let has_media = result.contents().iter().any(|content| content.media().is_some());
            has_media.then_some(result)
        }
        _ => None,
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum Wire<'a> {
    Message(Message<'a>),
    Custom(&'a serde_json::Map<String, serde_json::Value>),
}

impl Wire<'_> {
    /// The exact size of a message of one text with nothing to escape, which is the usual one; else
    /// a guess. What is kept with a message should neither grow nor shrink once it is written.
    fn size(&self) -> usize {
        let Self::Message(Message { role, content: Body::Text(text), name, tool_call_id, .. }) =
            self
        else {
            return 256;
        };
        let member = |name: &str, value: &str| r#","":"""#.len() + name.len() + value.len();
        r#"{"role":""}"#.len()
            + role.len()
            + member("content", text)
            + name.map_or(0, |value| member("name", value))
            + tool_call_id.map_or(0, |value| member("tool_call_id", value))
    }
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: Body<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty", serialize_with = "calls")]
    tool_calls: &'a [ToolCall],
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'a str>,
}

#[derive(Serialize)]
struct Call<'a> {
    id: &'a str,
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    arguments: &'a str,
}

fn wire(message: &ChatMessage) -> Result<Wire<'_>, &'static str> {
    let plain = |role, content| Message {
        role,
        content,
        name: None,
        tool_call_id: None,
        tool_calls: &[],
        reasoning_content: None,
    };
    Ok(Wire::Message(match message {
        ChatMessage::System(message) => plain("system", Body::text(message.text())),
        ChatMessage::User(message) => Message {
            name: message.name(),
            ..plain("user", Body::of(message.text(), message.contents())?)
        },
        ChatMessage::Ai(message) => {
            Message { tool_calls: message.tool_calls(), ..plain("assistant", answer(message)) }
        }
        ChatMessage::ToolResult(message) => {
            Message { tool_call_id: Some(message.id()), ..plain("tool", Body::of_result(message)) }
        }
        ChatMessage::Custom(message) => return Ok(Wire::Custom(message.attributes())),
    }))
}

fn answer(message: &AiMessage) -> Body<'_> {
    match message.text() {
        Some(text) => Body::text(text),
        None if !message.tool_calls().is_empty() => Body::Nothing,
        // Only here a refusal must be sent: an empty message is refused.
        None => Body::text(message.refusal().unwrap_or_default()),
    }
}

fn calls<S: Serializer>(calls: &&[ToolCall], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(calls.iter().map(|call| Call {
        id: call.id(),
        r#type: "function",
        function: Function { name: call.name(), arguments: arguments(call.arguments()) },
    }))
}

/// The arguments as the model wrote them, or an empty object if they are none.
pub(super) fn arguments(text: &str) -> &str {
    if object(text).is_some() { text } else { "{}" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::UserMessage;

    #[test]
    fn usual_message_is_written_into_space_of_its_size() {
        let messages = [
            ChatMessage::system("a"),
            ChatMessage::user("b"),
            UserMessage::new("c").with_name("d").into(),
            ChatMessage::ai("e"),
            ToolResult::new("f", "g", "h").into(),
        ];
        for message in &messages {
            assert_eq!(
                encode(message, Form::Plain).len(),
                wire(message).unwrap().size(),
                "{message:?}"
            );
        }
    }
}
