//! Messages as the protocol writes them.

use crate::error::{Error, ErrorKind};
use crate::message::{
    AiMessage, ChatMessage, Content, ImageDetail, Media, MediaSource, ToolCall, ToolResult,
};
use serde::{Serialize, Serializer};
use std::borrow::Cow;

/// The name under which encoded messages are kept with them. All servers share it, so nothing here
/// may depend on options.
pub(super) const DIALECT: &str = "openai-chat";

/// A message as JSON; empty if the protocol cannot carry it, which [`unsupported`] explains.
pub(super) fn encode(message: &ChatMessage) -> Vec<u8> {
    let Ok(wire) = wire(message) else { return Vec::new() };
    let mut out = Vec::with_capacity(wire.size());
    match serde_json::to_writer(&mut out, &wire) {
        Ok(()) => out,
        Err(_) => Vec::new(),
    }
}

/// The error for a message that [`encode`] refused.
pub(super) fn unsupported(message: &ChatMessage) -> Error {
    let why = wire(message).err().unwrap_or("the message cannot be written as JSON");
    Error::new(ErrorKind::Unsupported, why)
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
}

#[derive(Serialize)]
#[serde(untagged)]
enum Body<'a> {
    Text(&'a str),
    Parts(Vec<Part<'a>>),
    /// `null`, which a message that only calls tools must have for some servers.
    Nothing,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    Text { text: &'a str },
    ImageUrl { image_url: ImageUrl<'a> },
    InputAudio { input_audio: InputAudio<'a> },
    File { file: File },
}

#[derive(Serialize)]
struct ImageUrl<'a> {
    url: Cow<'a, str>,
    detail: &'static str,
}

#[derive(Serialize)]
struct InputAudio<'a> {
    data: &'a str,
    format: &'a str,
}

#[derive(Serialize)]
struct File {
    filename: &'static str,
    file_data: String,
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
    let plain =
        |role, content| Message { role, content, name: None, tool_call_id: None, tool_calls: &[] };
    Ok(Wire::Message(match message {
        ChatMessage::System(message) => plain("system", Body::Text(message.text())),
        ChatMessage::User(message) => Message {
            name: message.name(),
            ..plain("user", body(message.text(), message.contents())?)
        },
        ChatMessage::Ai(message) => {
            Message { tool_calls: message.tool_calls(), ..plain("assistant", answer(message)) }
        }
        ChatMessage::ToolResult(message) => {
            Message { tool_call_id: Some(message.id()), ..plain("tool", result(message)?) }
        }
        ChatMessage::Custom(message) => return Ok(Wire::Custom(message.attributes())),
    }))
}

fn answer(message: &AiMessage) -> Body<'_> {
    match message.text() {
        Some(text) => Body::Text(text),
        None if !message.tool_calls().is_empty() => Body::Nothing,
        // Only here a refusal must be sent: an empty message is refused.
        None => Body::Text(message.refusal().unwrap_or_default()),
    }
}

fn result(message: &ToolResult) -> Result<Body<'_>, &'static str> {
    if message.contents().iter().any(|content| content.text().is_none()) {
        return Err("tool results can only be text at this provider");
    }
    body(message.text(), message.contents())
}

fn body<'a>(text: Option<&'a str>, contents: &'a [Content]) -> Result<Body<'a>, &'static str> {
    match text {
        Some(text) => Ok(Body::Text(text)),
        None if contents.is_empty() => Ok(Body::Text("")),
        None => contents.iter().map(part).collect::<Result<_, _>>().map(Body::Parts),
    }
}

fn part(content: &Content) -> Result<Part<'_>, &'static str> {
    Ok(match content {
        Content::Text(text) => Part::Text { text },
        Content::Image(media, detail) => {
            let url = image_url(media)?;
            Part::ImageUrl { image_url: ImageUrl { url, detail: level(*detail) } }
        }
        Content::Audio(media) => {
            let MediaSource::Base64(data) = &media.source else {
                return Err("audio must be given as base64, this provider fetches no URL");
            };
            let format = audio_format(media.media_type.as_deref())?;
            Part::InputAudio { input_audio: InputAudio { data, format } }
        }
        Content::Pdf(media) => {
            let MediaSource::Base64(data) = &media.source else {
                return Err("a PDF must be given as base64, this provider fetches no URL");
            };
            let file_data = format!("data:application/pdf;base64,{data}");
            Part::File { file: File { filename: "document.pdf", file_data } }
        }
        Content::Video(_) => return Err("this provider takes no videos"),
    })
}

fn image_url(media: &Media) -> Result<Cow<'_, str>, &'static str> {
    match (&media.source, media.media_type.as_deref()) {
        (MediaSource::Url(url), _) => Ok(Cow::Borrowed(url)),
        (MediaSource::Base64(data), Some(media_type)) => {
            Ok(Cow::Owned(format!("data:{media_type};base64,{data}")))
        }
        (MediaSource::Base64(_), None) => Err("an image given as base64 needs its media type"),
    }
}

/// The nearest of the three levels that the protocol knows.
fn level(detail: ImageDetail) -> &'static str {
    match detail {
        ImageDetail::Low => "low",
        ImageDetail::High | ImageDetail::UltraHigh => "high",
        ImageDetail::Medium | ImageDetail::Auto => "auto",
    }
}

fn audio_format(media_type: Option<&str>) -> Result<&str, &'static str> {
    let Some(media_type) = media_type else {
        return Err("audio needs its media type, for example `audio/wav`");
    };
    Ok(match media_type {
        "audio/wav" | "audio/x-wav" | "audio/wave" | "audio/vnd.wave" => "wav",
        "audio/mpeg" | "audio/mp3" => "mp3",
        // Compatible servers know more formats than OpenAI, and say so if not.
        other => other.strip_prefix("audio/").unwrap_or(other),
    })
}

fn calls<S: Serializer>(calls: &&[ToolCall], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(calls.iter().map(|call| Call {
        id: call.id(),
        r#type: "function",
        function: Function { name: call.name(), arguments: arguments(call.arguments()) },
    }))
}

/// The arguments as the model wrote them. What is not a JSON object becomes an empty one, because
/// compatible servers read the arguments of earlier calls again and refuse the whole request; the
/// result that follows the call says what was wrong with it.
fn arguments(text: &str) -> &str {
    let is_object = text.trim_start().starts_with('{')
        && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
    if is_object { text } else { "{}" }
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
            assert_eq!(encode(message).len(), wire(message).unwrap().size(), "{message:?}");
        }
    }
}
