//! Messages as items of the responses API.

use super::super::message::arguments;
use super::super::part::{audio_format, image_url, level};
use super::PROTOCOL;
use super::wire::Items;
use crate::protocol::encoded::{Encoded, Frames};
use ai_services_core::message::{
    AiMessage, ChatMessage, Content, MediaSource, PdfContent, ToolResult,
};
use ai_services_core::{Error, ErrorKind};
use serde::Serialize;
use std::borrow::Cow;

/// The form of an encoded answer. Messages keep their encoded forms, which all clients share, so
/// the encoding depends on no other options.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ItemForm {
    /// The items of the answer if they are complete, for servers that stored nothing.
    Complete,
    /// The items of the answer, for a server that stored the content they refer to.
    Stored,
}

impl ItemForm {
    /// Returns the form that applies to a message: `Complete` if there is no difference.
    pub(super) fn of(self, message: &ChatMessage) -> Self {
        match message {
            ChatMessage::Ai(message) if kept_items(message).is_some() => self,
            _ => Self::Complete,
        }
    }

    /// Returns the name under which messages keep this form.
    pub(super) fn dialect(self) -> &'static str {
        match self {
            Self::Complete => "openai-responses",
            Self::Stored => "openai-responses-stored",
        }
    }
}

/// Returns the kept items of an answer as a JSON list.
fn kept_items(message: &AiMessage) -> Option<&str> {
    message.provider_content()?.json_of(PROTOCOL)
}

/// The form of messages that are nothing but a text.
const FRAMES: Frames = Frames {
    system: r#"{"type":"message","role":"system","content":""#,
    user: r#"{"type":"message","role":"user","content":""#,
    ai: r#"{"type":"message","role":"assistant","content":""#,
    end: r#""}"#,
};

/// Returns a message as items with commas in between, which the message keeps if that is not its text.
/// Empty if the API cannot carry the message; see [`unsupported`].
pub(super) fn encoded(message: &ChatMessage, form: ItemForm) -> Encoded<'_> {
    FRAMES.verbatim(message).unwrap_or_else(|| {
        let form = form.of(message);
        Encoded::Kept(message.encoded(form.dialect(), || encode(message, form)))
    })
}

/// Encodes a message as items with commas in between. Empty if the API cannot carry the message;
/// see [`unsupported`].
fn encode(message: &ChatMessage, form: ItemForm) -> Vec<u8> {
    try_encode(message, form).unwrap_or_default()
}

/// Returns the error for a message that [`encode`] rejects.
pub(super) fn unsupported(message: &ChatMessage) -> Error {
    let why = try_encode(message, ItemForm::Complete)
        .err()
        .unwrap_or("the message cannot be written as JSON");
    Error::new(ErrorKind::Unsupported, why)
}

fn try_encode(message: &ChatMessage, form: ItemForm) -> Result<Vec<u8>, &'static str> {
    match message {
        ChatMessage::System(message) => write(&[Item::message("system", message.text())]),
        ChatMessage::User(message) => {
            let content = match message.text() {
                Some(text) => Body::Text(text),
                None => Body::of(message.contents())?,
            };
            write(&[Item::Message { role: "user", content }])
        }
        ChatMessage::Ai(message) => match kept_items(message).and_then(|json| kept(json, form)) {
            Some(items) => Ok(items),
            None => write(&answer(message)),
        },
        ChatMessage::ToolResult(result) => write(&[output(result)?]),
        ChatMessage::Custom(message) => write(&[message.attributes()]),
    }
}

fn write(items: &[impl Serialize]) -> Result<Vec<u8>, &'static str> {
    let mut out = Vec::with_capacity(128);
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        serde_json::to_writer(&mut out, item)
            .map_err(|_| "the message cannot be written as JSON")?;
    }
    Ok(out)
}

/// Returns kept items unchanged, unless a server without storage would miss some content.
fn kept(json: &str, form: ItemForm) -> Option<Vec<u8>> {
    let items = Items::read(json)?;
    let can_be_sent = form == ItemForm::Stored || items.are_self_contained();
    can_be_sent.then(|| items.joined().into_bytes()).filter(|items| !items.is_empty())
}

/// Returns the items of an answer without kept items: its text and its calls.
fn answer(message: &AiMessage) -> Vec<Item<'_>> {
    let calls = message.tool_calls();
    let text = match message.text() {
        Some(text) => Some(text),
        None if !calls.is_empty() => None,
        // A refusal is sent only here, because a turn of the model must not be missing.
        None => Some(message.refusal().unwrap_or_default()),
    };
    let text = text.map(|text| Item::message("assistant", text));
    let calls = calls.iter().map(|call| Item::FunctionCall {
        call_id: call.id(),
        name: call.name(),
        arguments: arguments(call.arguments()),
    });
    text.into_iter().chain(calls).collect()
}

fn output(result: &ToolResult) -> Result<Item<'_>, &'static str> {
    let output = match (result.text(), result.contents()) {
        (Some(text), _) => Body::Text(text),
        (None, []) => Body::Text(""),
        (None, contents) => Body::of(contents)?,
    };
    Ok(Item::FunctionCallOutput { call_id: result.id(), output })
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Item<'a> {
    Message { role: &'static str, content: Body<'a> },
    FunctionCall { call_id: &'a str, name: &'a str, arguments: &'a str },
    FunctionCallOutput { call_id: &'a str, output: Body<'a> },
}

impl<'a> Item<'a> {
    fn message(role: &'static str, text: &'a str) -> Self {
        Self::Message { role, content: Body::Text(text) }
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum Body<'a> {
    Text(&'a str),
    Parts(Vec<Part<'a>>),
}

impl<'a> Body<'a> {
    fn of(contents: &'a [Content]) -> Result<Self, &'static str> {
        contents.iter().map(part).collect::<Result<_, _>>().map(Self::Parts)
    }
}

#[derive(Serialize)]
#[serde(tag = "type")]
enum Part<'a> {
    #[serde(rename = "input_text")]
    Text { text: &'a str },
    #[serde(rename = "input_image")]
    Image { image_url: Cow<'a, str>, detail: &'static str },
    #[serde(rename = "input_file")]
    File(File<'a>),
    #[serde(rename = "input_audio")]
    Audio { input_audio: Audio<'a> },
}

#[derive(Serialize)]
#[serde(untagged)]
enum File<'a> {
    Here { filename: &'static str, file_data: String },
    There { file_url: &'a str },
}

#[derive(Serialize)]
struct Audio<'a> {
    data: &'a str,
    format: &'a str,
}

fn part(content: &Content) -> Result<Part<'_>, &'static str> {
    Ok(match content {
        Content::Text(text) => Part::Text { text },
        Content::Image(image) => {
            let image_url = image_url(image.media())?;
            Part::Image { image_url, detail: level(image.detail()) }
        }
        Content::Pdf(pdf) => Part::File(file(pdf)),
        Content::Audio(audio) => {
            let MediaSource::Base64(data) = &audio.media().source else {
                return Err("audio must be given as base64, this provider fetches no URL");
            };
            let format = audio_format(audio.media().media_type())?;
            Part::Audio { input_audio: Audio { data, format } }
        }
        Content::Video(_) => return Err("this provider takes no videos"),
    })
}

fn file(pdf: &PdfContent) -> File<'_> {
    match &pdf.media().source {
        MediaSource::Url(url) => File::There { file_url: url },
        MediaSource::Base64(data) => File::Here {
            filename: "document.pdf",
            file_data: format!("data:application/pdf;base64,{data}"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::encoded::check_frames;

    #[test]
    fn verbatim_text_is_in_its_frame() {
        check_frames(&FRAMES, |message| encode(message, ItemForm::Complete));
    }
}
