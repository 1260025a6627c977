//! Message contents in the format of chat completions.

use ai_services_core::message::{Content, ImageDetail, Media, MediaSource, ToolResult};
use serde::Serialize;
use std::borrow::Cow;

/// The content of a message.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Body<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<Part<'a>>),
    /// `null`, which some servers require in a message that only calls tools.
    Nothing,
}

impl<'a> Body<'a> {
    pub(super) fn text(text: &'a str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }

    /// Returns a text or several parts.
    pub(super) fn of(text: Option<&'a str>, contents: &'a [Content]) -> Result<Self, &'static str> {
        match text {
            Some(text) => Ok(Self::text(text)),
            None if contents.is_empty() => Ok(Self::text("")),
            None => contents.iter().map(part).collect::<Result<_, _>>().map(Self::Parts),
        }
    }

    /// Returns the text of a tool result. The protocol takes only text there: media are mentioned,
    /// and sent later by [`attached`].
    pub(super) fn of_result(result: &'a ToolResult) -> Self {
        let mut names = names(result);
        let texts = result.contents().iter().map(|content| match content.text() {
            Some(text) => Cow::Borrowed(text),
            None => {
                let name = names.next().unwrap_or_default();
                Cow::Owned(format!("[{name}: see the next user message]"))
            }
        });
        let mut texts: Vec<_> = texts.collect();
        match texts.len() {
            0 | 1 => Self::Text(texts.pop().unwrap_or_default()),
            _ => Self::Parts(texts.into_iter().map(|text| Part::Text { text }).collect()),
        }
    }
}

/// Returns the media of a tool result as parts of a user message, each after a text with its name.
pub(super) fn attached(result: &ToolResult) -> Result<Vec<Part<'_>>, &'static str> {
    let media = result.contents().iter().filter(|content| content.media().is_some());
    let mut parts = Vec::new();
    for (content, name) in media.zip(names(result)) {
        parts.push(Part::Text { text: Cow::Owned(format!("[{name}]")) });
        parts.push(part(content)?);
    }
    Ok(parts)
}

/// Returns the names of the media of a result, in order.
fn names(result: &ToolResult) -> impl Iterator<Item = String> {
    let nouns = result.contents().iter().filter_map(|content| match content {
        Content::Image(_) => Some("image"),
        Content::Audio(_) => Some("recording"),
        Content::Video(_) => Some("video"),
        Content::Pdf(_) => Some("PDF document"),
        Content::Text(_) => None,
    });
    let id = result.id();
    (1..).zip(nouns).map(move |(number, noun)| format!("{noun} {number} of tool call {id}"))
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Part<'a> {
    Text { text: Cow<'a, str> },
    ImageUrl { image_url: ImageUrl<'a> },
    InputAudio { input_audio: InputAudio<'a> },
    File { file: File },
}

#[derive(Serialize)]
pub(super) struct ImageUrl<'a> {
    url: Cow<'a, str>,
    detail: &'static str,
}

#[derive(Serialize)]
pub(super) struct InputAudio<'a> {
    data: &'a str,
    format: &'a str,
}

#[derive(Serialize)]
pub(super) struct File {
    filename: &'static str,
    file_data: String,
}

fn part(content: &Content) -> Result<Part<'_>, &'static str> {
    Ok(match content {
        Content::Text(text) => Part::Text { text: Cow::Borrowed(text) },
        Content::Image(image) => {
            let url = image_url(image.media())?;
            Part::ImageUrl { image_url: ImageUrl { url, detail: level(image.detail()) } }
        }
        Content::Audio(audio) => {
            let MediaSource::Base64(data) = &audio.media().source else {
                return Err("audio must be given as base64, this provider fetches no URL");
            };
            let format = audio_format(audio.media().media_type())?;
            Part::InputAudio { input_audio: InputAudio { data, format } }
        }
        Content::Pdf(pdf) => {
            let MediaSource::Base64(data) = &pdf.media().source else {
                return Err("a PDF must be given as base64, this provider fetches no URL");
            };
            let file_data = format!("data:application/pdf;base64,{data}");
            Part::File { file: File { filename: "document.pdf", file_data } }
        }
        Content::Video(_) => return Err("this provider takes no videos"),
    })
}

pub(super) fn image_url(media: &Media) -> Result<Cow<'_, str>, &'static str> {
    match (&media.source, media.media_type()) {
        (MediaSource::Url(url), _) => Ok(Cow::Borrowed(url)),
        (MediaSource::Base64(data), Some(media_type)) => {
            Ok(Cow::Owned(format!("data:{media_type};base64,{data}")))
        }
        (MediaSource::Base64(_), None) => Err("an image given as base64 needs its media type"),
    }
}

/// Returns the nearest of the three levels that the protocol has.
pub(super) fn level(detail: ImageDetail) -> &'static str {
    match detail {
        ImageDetail::Low => "low",
        ImageDetail::High | ImageDetail::UltraHigh => "high",
        ImageDetail::Medium | ImageDetail::Auto => "auto",
    }
}

pub(super) fn audio_format(media_type: Option<&str>) -> Result<&str, &'static str> {
    let Some(media_type) = media_type else {
        return Err("audio needs its media type, for example `audio/wav`");
    };
    Ok(match media_type {
        "audio/wav" | "audio/x-wav" | "audio/wave" | "audio/vnd.wave" => "wav",
        "audio/mpeg" | "audio/mp3" => "mp3",
        "audio/mp4" | "audio/x-m4a" => "m4a",
        // Compatible servers support more formats than OpenAI, and report unsupported ones.
        other => other.strip_prefix("audio/").unwrap_or(other),
    })
}
