//! Messages in the format of the API: roles, and parts with commas in between.

use super::PROTOCOL;
use super::calls;
use super::name::Generation;
use super::part::{self, Part};
use crate::protocol::arguments::object_or_empty;
use crate::protocol::encoded::{Encoded, Frames};
use crate::protocol::merge_roles::RoleMerger;
use ai_services_core::message::{AiMessage, ChatMessage};
use ai_services_core::{Error, ErrorKind, Result};
use serde::Serialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// The placeholder that newer models accept for the signature of a call of another model.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// Writes the messages of the user and the model, for a model of this generation.
pub(super) fn write<'m>(
    messages: impl IntoIterator<Item = &'m ChatMessage>,
    generation: Generation,
    body: &mut Vec<u8>,
) -> Result<()> {
    let merger =
        RoleMerger { parts: "parts", encode: &|message| checked(message, generation), role };
    merger.write(messages, body)
}

/// Returns the encoded parts of a message.
///
/// # Errors
///
/// [`ErrorKind::Unsupported`] for content that the API cannot carry.
pub(super) fn checked(message: &ChatMessage, generation: Generation) -> Result<Encoded<'_>> {
    let parts = encoded(message, generation);
    if parts.is_empty() {
        try_encode(message, generation).map_err(|why| Error::new(ErrorKind::Unsupported, why))?;
    }
    Ok(parts)
}

/// The form of messages that are nothing but a text.
const FRAMES: Frames = Frames::without_roles(r#"{"text":""#, r#""}"#);

/// Returns the encoded parts of a message, which the message keeps if they are not its text. Empty if
/// there are none, or if the API cannot carry them.
pub(super) fn encoded(message: &ChatMessage, generation: Generation) -> Encoded<'_> {
    if let Some(text) = FRAMES.verbatim(message) {
        return text;
    }
    let generation = if depends_on_model(message) { generation } else { Generation::Second };
    let dialect = match generation {
        Generation::Second => "gemini",
        Generation::Third => "gemini-3",
    };
    Encoded::Kept(message.encoded(dialect, || try_encode(message, generation).unwrap_or_default()))
}

fn depends_on_model(message: &ChatMessage) -> bool {
    match message {
        ChatMessage::Ai(message) => {
            !message.tool_calls().is_empty() && kept_parts(message).is_none()
        }
        ChatMessage::ToolResult(result) => {
            result.contents().iter().any(|content| content.media().is_some())
        }
        _ => false,
    }
}

/// Returns the role of a message. `None` for system messages, which are sent elsewhere.
fn role(message: &ChatMessage) -> Option<&'static str> {
    match message {
        ChatMessage::System(_) => None,
        ChatMessage::User(_) | ChatMessage::ToolResult(_) => Some("user"),
        ChatMessage::Ai(_) => Some("model"),
        ChatMessage::Custom(message) => {
            let role = message.attributes().get("role");
            Some(if role.is_some_and(|role| role == "model") { "model" } else { "user" })
        }
    }
}

fn try_encode(
    message: &ChatMessage,
    generation: Generation,
) -> std::result::Result<Vec<u8>, &'static str> {
    match message {
        ChatMessage::System(message) => list([Part::Text(Cow::Borrowed(message.text()))]),
        ChatMessage::User(message) => {
            let parts: Vec<_> =
                message.contents().iter().map(part::part).collect::<std::result::Result<_, _>>()?;
            if parts.is_empty() { list([Part::Text(Cow::Borrowed(""))]) } else { list(parts) }
        }
        ChatMessage::Ai(message) => match kept_parts(message) {
            Some(parts) => Ok(parts.as_bytes().to_vec()),
            None => answer(message, generation),
        },
        ChatMessage::ToolResult(result) => {
            let id = Some(result.id()).filter(|id| calls::is_providers(id));
            list(part::result(result, id, generation)?)
        }
        ChatMessage::Custom(message) => match message.attributes().get("parts") {
            Some(serde_json::Value::Array(parts)) => list(parts),
            _ => list([message.attributes()]),
        },
    }
}

/// Returns the raw parts of an answer, if they were kept.
fn kept_parts(message: &AiMessage) -> Option<&str> {
    let list = message.provider_content()?.json_of(PROTOCOL)?.trim();
    let parts = list.strip_prefix('[')?.strip_suffix(']')?.trim();
    (!parts.is_empty()).then_some(parts)
}

fn answer(
    message: &AiMessage,
    generation: Generation,
) -> std::result::Result<Vec<u8>, &'static str> {
    let needs_refusal = message.tool_calls().is_empty();
    let text = message.text().or_else(|| message.refusal().filter(|_| needs_refusal));
    let text = text.filter(|text| !text.is_empty());
    let mut out = list(text.map(|text| Part::Text(Cow::Borrowed(text))))?;
    for (index, call) in message.tool_calls().iter().enumerate() {
        if !out.is_empty() {
            out.push(b',');
        }
        // Of several calls in one answer, only the first needs a signature.
        let signature = (generation == Generation::Third && index == 0).then_some(NO_SIGNATURE);
        let id = Some(call.id()).filter(|id| calls::is_providers(id));
        let args = object_or_empty(call.arguments());
        let function_call = FunctionCall { id, name: call.name(), args };
        write_json(&mut out, &CallPart { function_call, thought_signature: signature })?;
    }
    Ok(out)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CallPart<'a> {
    function_call: FunctionCall<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought_signature: Option<&'static str>,
}

#[derive(Serialize)]
struct FunctionCall<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    name: &'a str,
    args: &'a RawValue,
}

const UNWRITABLE: &str = "the message cannot be written as JSON";

fn list<T: Serialize>(
    parts: impl IntoIterator<Item = T>,
) -> std::result::Result<Vec<u8>, &'static str> {
    let mut out = Vec::new();
    for (index, part) in parts.into_iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_json(&mut out, &part)?;
    }
    Ok(out)
}

fn write_json(out: &mut Vec<u8>, value: &impl Serialize) -> std::result::Result<(), &'static str> {
    serde_json::to_writer(out, value).map_err(|_| UNWRITABLE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::encoded::check_frames;

    #[test]
    fn verbatim_text_is_in_its_frame() {
        check_frames(&FRAMES, |message| try_encode(message, Generation::Second).unwrap());
    }
}
