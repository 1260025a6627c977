//! Messages in the format of the API.

use crate::protocol::arguments::object_or_empty;
use crate::protocol::encoded::{Encoded, Frames};
use ai_services_core::message::{
    AiMessage, ChatMessage, Content, MediaSource, ToolCall, ToolResult,
};
use ai_services_core::{Error, ErrorKind};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// The form of an encoded message. Messages keep their encoded forms, which all clients share, so
/// the encoding depends on no other options.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum MessageForm {
    Plain,
    /// With the model's thinking.
    Thinking,
}

impl MessageForm {
    /// Returns the form that applies to a message: `Plain` if there is no difference.
    pub(super) fn of(self, message: &ChatMessage) -> Self {
        match message {
            ChatMessage::Ai(message) if message.thinking().is_some() => self,
            _ => Self::Plain,
        }
    }

    /// Returns the name under which messages keep this form.
    pub(super) fn dialect(self) -> &'static str {
        match self {
            Self::Plain => "ollama",
            Self::Thinking => "ollama-thinking",
        }
    }
}

/// Returns a message as JSON, which the message keeps if that is not its text. Empty if the API cannot
/// carry the message; see [`unsupported`].
pub(super) fn encoded(message: &ChatMessage, form: MessageForm) -> Encoded<'_> {
    Frames::ROLE_AND_CONTENT.verbatim(message).unwrap_or_else(|| {
        let form = form.of(message);
        Encoded::Kept(message.encoded(form.dialect(), || encode(message, form)))
    })
}

/// Encodes a message as JSON. Empty if the API cannot carry the message; see [`unsupported`].
fn encode(message: &ChatMessage, form: MessageForm) -> Vec<u8> {
    try_encode(message, form).unwrap_or_default()
}

/// Returns the error for a message that [`encode`] rejects.
pub(super) fn unsupported(message: &ChatMessage) -> Error {
    let why = try_encode(message, MessageForm::Plain).err().unwrap_or(NOT_JSON);
    Error::new(ErrorKind::Unsupported, why)
}

const NOT_JSON: &str = "the message cannot be written as JSON";

fn try_encode(message: &ChatMessage, form: MessageForm) -> Result<Vec<u8>, &'static str> {
    let wire = match message {
        ChatMessage::Custom(message) => {
            return serde_json::to_vec(message.attributes()).map_err(|_| NOT_JSON);
        }
        ChatMessage::System(message) => Message::new("system", message.text()),
        // The API has no names of users.
        ChatMessage::User(message) => Message::of("user", message.contents())?,
        ChatMessage::Ai(message) => Message {
            thinking: message.thinking().filter(|_| form == MessageForm::Thinking),
            tool_calls: message.tool_calls(),
            ..Message::new("assistant", answer(message))
        },
        ChatMessage::ToolResult(result) => tool_result(result)?,
    };
    let mut out = Vec::with_capacity(wire.size());
    serde_json::to_writer(&mut out, &wire).map_err(|_| NOT_JSON)?;
    Ok(out)
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    images: Vec<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty", serialize_with = "calls")]
    tool_calls: &'a [ToolCall],
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
}

impl<'a> Message<'a> {
    fn new(role: &'static str, content: impl Into<Cow<'a, str>>) -> Self {
        Self {
            role,
            content: content.into(),
            thinking: None,
            images: Vec::new(),
            tool_calls: &[],
            tool_name: None,
            tool_call_id: None,
        }
    }

    /// Creates a message with joined texts and images.
    fn of(role: &'static str, contents: &'a [Content]) -> Result<Self, &'static str> {
        let mut texts = Vec::new();
        let mut images = Vec::new();
        for content in contents {
            match content {
                Content::Text(text) => texts.push(&**text),
                Content::Image(image) => images.push(match &image.media().source {
                    MediaSource::Base64(data) => &**data,
                    MediaSource::Url(_) => {
                        return Err("an image must be given as base64, Ollama fetches no URL");
                    }
                }),
                Content::Audio(_) => return Err("Ollama takes no recordings"),
                Content::Video(_) => return Err("Ollama takes no videos"),
                Content::Pdf(_) => return Err("Ollama takes no PDF documents"),
            }
        }
        let content = match texts.as_slice() {
            [text] => Cow::Borrowed(*text),
            texts => Cow::Owned(texts.join("\n")),
        };
        Ok(Self { images, ..Self::new(role, content) })
    }

    /// Returns the exact size of a message with a single text without escapes, and a guess for
    /// others. A correct size avoids a reallocation of the stored form.
    fn size(&self) -> usize {
        let member = |name: &str, value: &str| r#","":"""#.len() + name.len() + value.len();
        let optional =
            |name: &str, value: Option<&str>| value.map_or(0, |value| member(name, value));
        let images: usize = self.images.iter().map(|image| image.len() + 3).sum();
        r#"{"role":""}"#.len()
            + self.role.len()
            + member("content", &self.content)
            + optional("thinking", self.thinking)
            + optional("tool_name", self.tool_name)
            + optional("tool_call_id", self.tool_call_id)
            + if images > 0 { images + r#","images":[]"#.len() } else { 0 }
            + self.tool_calls.len() * 128
    }
}

fn answer(message: &AiMessage) -> &str {
    let refusal = message.refusal().filter(|_| message.tool_calls().is_empty());
    message.text().or(refusal).unwrap_or_default()
}

/// Converts a tool result. Newer servers match results and calls by id.
fn tool_result(result: &ToolResult) -> Result<Message<'_>, &'static str> {
    Ok(Message {
        tool_name: Some(result.tool_name()),
        tool_call_id: Some(result.id()).filter(|id| !id.is_empty()),
        ..Message::of("tool", result.contents())?
    })
}

#[derive(Serialize)]
struct Call<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    id: &'a str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    arguments: &'a RawValue,
}

fn calls<S: Serializer>(calls: &&[ToolCall], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(calls.iter().map(|call| Call {
        id: call.id(),
        function: Function { name: call.name(), arguments: object_or_empty(call.arguments()) },
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::encoded::check_frames;
    use ai_services_core::message::{ImageContent, UserMessage};

    #[test]
    fn verbatim_text_is_in_its_frame() {
        check_frames(&Frames::ROLE_AND_CONTENT, |message| encode(message, MessageForm::Plain));
    }

    #[test]
    fn size_of_a_single_text_is_exact() {
        let image = Content::from(ImageContent::base64("aWdj", "image/png"));
        let messages = [
            ChatMessage::system("a"),
            ChatMessage::user("b"),
            UserMessage::from_contents(["c".into(), image]).into(),
            ChatMessage::ai("e"),
            ToolResult::new("f", "g", "h").into(),
        ];
        for message in &messages {
            let encoded = encode(message, MessageForm::Plain);
            let text = String::from_utf8_lossy(&encoded);
            assert!(encoded.capacity() - encoded.len() <= 2, "{text}");
        }
    }
}
