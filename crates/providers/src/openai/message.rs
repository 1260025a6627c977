//! Messages in the format of chat completions.

use super::extensions::MessageExtensions;
use super::part::{self, Body};
use crate::protocol::arguments::object;
use crate::protocol::encoded::{Encoded, Frames};
use ai_services_core::message::{AiMessage, ChatMessage, ToolCall, ToolResult};
use ai_services_core::{Error, ErrorKind};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

/// The form of an encoded message. Messages keep their encoded forms, which all clients share, so
/// the encoding depends on no other options.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct MessageForm {
    /// `true` to include the model's thinking.
    pub(super) thinking: bool,
    /// `true` to include the non-standard fields of a server.
    pub(super) extensions: bool,
}

impl MessageForm {
    const PLAIN: Self = Self { thinking: false, extensions: false };

    /// Returns the form that applies to a message: the plain one if there is no difference.
    pub(super) fn of(self, message: &ChatMessage) -> Self {
        match message {
            ChatMessage::Ai(message) => Self {
                thinking: self.thinking && message.thinking().is_some(),
                extensions: self.extensions && MessageExtensions::are_in(message),
            },
            _ => Self::PLAIN,
        }
    }

    /// Returns the name under which messages keep this form.
    pub(super) fn dialect(self) -> &'static str {
        match (self.thinking, self.extensions) {
            (false, false) => "openai-chat",
            (true, false) => "openai-chat-thinking",
            (false, true) => "openai-chat-own",
            (true, true) => "openai-chat-own-thinking",
        }
    }
}

/// Returns a message as JSON, which the message keeps if that is not its text. Empty if the protocol
/// cannot carry the message; see [`unsupported`].
pub(super) fn encoded(message: &ChatMessage, form: MessageForm) -> Encoded<'_> {
    Frames::ROLE_AND_CONTENT.verbatim(message).unwrap_or_else(|| {
        let form = form.of(message);
        Encoded::Kept(message.encoded(form.dialect(), || encode(message, form)))
    })
}

/// Encodes a message as JSON. Empty if the protocol cannot carry the message; see [`unsupported`].
/// The media of a tool result follow on a second line; see [`split`].
fn encode(message: &ChatMessage, form: MessageForm) -> Vec<u8> {
    try_encode(message, form).unwrap_or_default()
}

/// Returns the error for a message that [`encode`] rejects.
pub(super) fn unsupported(message: &ChatMessage) -> Error {
    let why = try_encode(message, MessageForm::PLAIN)
        .err()
        .unwrap_or("the message cannot be written as JSON");
    Error::new(ErrorKind::Unsupported, why)
}

/// Splits an encoded message into the message and the media of a tool result, which are sent later
/// as parts of a user message. Most messages have no such media.
pub(super) fn split<'a>(message: &ChatMessage, encoded: &'a [u8]) -> (&'a [u8], &'a [u8]) {
    // Compact JSON has no line breaks.
    let end = match media_result(message) {
        Some(_) => encoded.iter().position(|byte| *byte == b'\n'),
        None => None,
    };
    match end.and_then(|end| encoded.split_at_checked(end)) {
        Some((message, [_, parts @ ..])) => (message, parts),
        _ => (encoded, &[]),
    }
}

fn try_encode(message: &ChatMessage, form: MessageForm) -> Result<Vec<u8>, &'static str> {
    let mut wire = wire(message)?;
    if let (Wire::Message(wire), ChatMessage::Ai(message)) = (&mut wire, message) {
        wire.add(message, form);
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

/// Returns the tool result, if it has media.
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
    /// Returns the exact size of a message with a single text without escapes, and a guess for
    /// others. A correct size avoids a reallocation of the stored form.
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
    #[serde(skip_serializing_if = "Calls::is_empty")]
    tool_calls: Calls<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_details: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_content: Option<&'a RawValue>,
}

impl<'a> Message<'a> {
    /// Adds the members of a form.
    fn add(&mut self, message: &'a AiMessage, form: MessageForm) {
        if form.extensions {
            let extensions = MessageExtensions::of(message);
            self.reasoning_details = extensions.reasoning_details;
            self.extra_content = extensions.extra_content;
            self.tool_calls.extra = extensions.calls;
        }
        // The details contain the thinking.
        if form.thinking && self.reasoning_details.is_none() {
            self.reasoning_content = message.thinking();
        }
    }
}

#[derive(Default)]
struct Calls<'a> {
    calls: &'a [ToolCall],
    /// The `extra_content` of each call. Empty without extensions.
    extra: Vec<Option<&'a RawValue>>,
}

impl Calls<'_> {
    fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }
}

impl Serialize for Calls<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.calls.iter().enumerate().map(|(index, call)| Call {
            id: call.id(),
            r#type: "function",
            function: Function { name: call.name(), arguments: arguments(call.arguments()) },
            extra_content: self.extra.get(index).copied().flatten(),
        }))
    }
}

#[derive(Serialize)]
struct Call<'a> {
    id: &'a str,
    r#type: &'static str,
    function: Function<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_content: Option<&'a RawValue>,
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
        tool_calls: Calls::default(),
        reasoning_content: None,
        reasoning_details: None,
        extra_content: None,
    };
    Ok(Wire::Message(match message {
        ChatMessage::System(message) => plain("system", Body::text(message.text())),
        ChatMessage::User(message) => Message {
            name: message.name(),
            ..plain("user", Body::of(message.text(), message.contents())?)
        },
        ChatMessage::Ai(message) => {
            let tool_calls = Calls { calls: message.tool_calls(), ..Calls::default() };
            Message { tool_calls, ..plain("assistant", answer(message)) }
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
        // A refusal is sent only here, because servers reject empty messages.
        None => Body::text(message.refusal().unwrap_or_default()),
    }
}

/// Returns arguments unchanged, or an empty object if they are not a JSON object.
pub(super) fn arguments(text: &str) -> &str {
    if object(text).is_some() { text } else { "{}" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::openai::PROTOCOL;
    use crate::protocol::encoded::check_frames;
    use ai_services_core::message::{ProviderContent, UserMessage};

    #[test]
    fn verbatim_text_is_in_its_frame() {
        check_frames(&Frames::ROLE_AND_CONTENT, |message| encode(message, MessageForm::PLAIN));
    }

    #[test]
    fn size_of_a_single_text_is_exact() {
        let messages = [
            ChatMessage::system("a"),
            ChatMessage::user("b"),
            UserMessage::new("c").with_name("d").into(),
            ChatMessage::ai("e"),
            ToolResult::new("f", "g", "h").into(),
        ];
        for message in &messages {
            assert_eq!(
                encode(message, MessageForm::PLAIN).len(),
                wire(message).unwrap().size(),
                "{message:?}"
            );
        }
    }

    /// Returns the end of an encoded answer with a call and these extensions.
    fn sent(extensions_json: &str, thinking: bool, extensions: bool) -> String {
        let content = ProviderContent::from_json(PROTOCOL, extensions_json).unwrap();
        let message =
            AiMessage::builder().thinking("hm").tool_calls([ToolCall::new("c", "f", "{}")]);
        let message = ChatMessage::from(message.provider_content(content).build());
        let form = MessageForm { thinking, extensions }.of(&message);
        let prefix = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}"#;
        let sent = String::from_utf8(encode(&message, form)).unwrap();
        sent.strip_prefix(prefix).unwrap().to_owned()
    }

    const EXTENSIONS: &str =
        r#"{"reasoning_details":[ {"n":1.50} ],"extra_content":"é","calls":[{"a":1e2}]}"#;

    #[test]
    fn extensions_are_sent_unchanged() {
        let own = r#","extra_content":{"a":1e2}}],"reasoning_details":[ {"n":1.50} ],"extra_content":"é"}"#;
        assert_eq!(sent(EXTENSIONS, false, true), own);
        assert_eq!(sent(EXTENSIONS, true, true), own, "details replace thinking");
        let extra = r#"{"extra_content":1}"#;
        assert_eq!(sent(extra, true, true), r#"}],"reasoning_content":"hm","extra_content":1}"#);
    }

    #[test]
    fn extensions_are_left_out_of_other_forms() {
        assert_eq!(sent(EXTENSIONS, false, false), "}]}");
        assert_eq!(sent(EXTENSIONS, true, false), r#"}],"reasoning_content":"hm"}"#);
    }

    #[test]
    fn invalid_extensions_are_not_sent() {
        for json in ["[]", "7", r#"{"calls":[1,2]}"#, r#"{"calls":[null]}"#, r#"{"calls":{}}"#] {
            assert_eq!(sent(json, false, true), "}]}", "{json}");
        }
    }

    #[test]
    fn form_is_plain_if_there_is_no_difference() {
        let all = MessageForm { thinking: true, extensions: true };
        assert_eq!(all.of(&ChatMessage::user("a")), MessageForm::PLAIN);
        assert_eq!(all.of(&ChatMessage::ai("a")), MessageForm::PLAIN);
        let content = ProviderContent::from_json("anthropic", "[]").unwrap();
        let other = AiMessage::builder().text("a").provider_content(content).build();
        assert_eq!(all.of(&other.into()), MessageForm::PLAIN);
    }
}
