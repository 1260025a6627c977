//! Contents in the format of the API.

use super::name::Generation;
use ai_services_core::message::{Content, Media, MediaSource, ToolResult};
use serde::Serialize;
use std::borrow::Cow;

/// A part of a content, by its only member.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Part<'a> {
    Text(Cow<'a, str>),
    InlineData(Blob<'a>),
    FileData(File<'a>),
    FunctionResponse(FunctionResponse<'a>),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Blob<'a> {
    mime_type: &'a str,
    data: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct File<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_type: Option<&'a str>,
    file_uri: &'a str,
}

#[derive(Serialize)]
pub(super) struct FunctionResponse<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    name: &'a str,
    response: Response<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<Part<'a>>,
}

/// The result of a tool, always as text: the API would round large integers, and a result with a
/// member `error` would count as failed.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Response<'a> {
    Output(Cow<'a, str>),
    Error(Cow<'a, str>),
}

/// Converts a content of the user to a part.
pub(super) fn part(content: &Content) -> Result<Part<'_>, &'static str> {
    Ok(match content {
        Content::Text(text) => Part::Text(Cow::Borrowed(text)),
        Content::Image(image) => media(image.media(), None)?,
        Content::Audio(audio) => media(audio.media(), None)?,
        Content::Video(video) => media(video.media(), None)?,
        Content::Pdf(pdf) => media(pdf.media(), Some("application/pdf"))?,
    })
}

fn media<'a>(media: &'a Media, usual: Option<&'a str>) -> Result<Part<'a>, &'static str> {
    let known = media.media_type().or(usual);
    match (&media.source, known) {
        (MediaSource::Base64(data), Some(mime_type)) => {
            Ok(Part::InlineData(Blob { mime_type, data }))
        }
        (MediaSource::Base64(_), None) => Err("media given as base64 need their media type"),
        (MediaSource::Url(uri), known) => {
            Ok(Part::FileData(File { mime_type: known.or_else(|| type_of(uri)), file_uri: uri }))
        }
    }
}

/// Returns the media type that the end of a URL suggests. The provider does not detect it.
fn type_of(url: &str) -> Option<&'static str> {
    let path = url.split(['?', '#']).next().unwrap_or(url);
    let (_, name) = path.rsplit_once('/')?;
    let (_, extension) = name.rsplit_once('.')?;
    Some(match extension.to_ascii_lowercase().as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "webp" => "image/webp",
        "heic" => "image/heic",
        "heif" => "image/heif",
        "gif" => "image/gif",
        "wav" => "audio/wav",
        "mp3" => "audio/mp3",
        "aac" => "audio/aac",
        "ogg" => "audio/ogg",
        "flac" => "audio/flac",
        "mp4" => "video/mp4",
        "mov" => "video/quicktime",
        "webm" => "video/webm",
        "pdf" => "application/pdf",
        _ => return None,
    })
}

/// Returns the result of a tool, followed by the media that it cannot contain.
pub(super) fn result<'a>(
    result: &'a ToolResult,
    id: Option<&'a str>,
    generation: Generation,
) -> Result<Vec<Part<'a>>, &'static str> {
    let (mut texts, mut parts, mut behind) = (Vec::new(), Vec::new(), Vec::new());
    let mut number = 0;
    for content in result.contents() {
        let Some(noun) = noun(content) else {
            texts.push(Cow::Borrowed(content.text().unwrap_or_default()));
            continue;
        };
        number += 1;
        let part = part(content)?;
        if generation == Generation::Third && fits_in_result(&part) {
            texts.push(Cow::Owned(format!("[{noun} {number}]")));
            parts.push(part);
        } else {
            texts.push(Cow::Owned(format!("[{noun} {number}: see below]")));
            let name = result.tool_name();
            behind
                .push(Part::Text(Cow::Owned(format!("[{noun} {number} of the result of {name}]"))));
            behind.push(part);
        }
    }
    let text = match texts.len() {
        0 | 1 => texts.pop().unwrap_or_default(),
        _ => Cow::Owned(texts.join("\n")),
    };
    let response = if result.is_error() { Response::Error(text) } else { Response::Output(text) };
    let own = FunctionResponse { id, name: result.tool_name(), response, parts };
    Ok(std::iter::once(Part::FunctionResponse(own)).chain(behind).collect())
}

/// Returns whether newer models accept a part within a tool result.
fn fits_in_result(part: &Part<'_>) -> bool {
    const TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/webp", "application/pdf"];
    matches!(part, Part::InlineData(blob) if TYPES.contains(&blob.mime_type))
}

fn noun(content: &Content) -> Option<&'static str> {
    match content {
        Content::Image(_) => Some("image"),
        Content::Audio(_) => Some("recording"),
        Content::Video(_) => Some("video"),
        Content::Pdf(_) => Some("PDF document"),
        Content::Text(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_type_is_guessed_from_the_url() {
        assert_eq!(type_of("https://a.example/b/C.PNG?x=1.mp4#y"), Some("image/png"));
        assert_eq!(type_of("https://a.example/paper.pdf"), Some("application/pdf"));
        for unknown in ["https://a.example/", "https://youtu.be/x", "https://a.png/x", "a.png", ""]
        {
            assert_eq!(type_of(unknown), None, "{unknown}");
        }
    }
}
