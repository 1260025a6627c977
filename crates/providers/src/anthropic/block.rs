//! Blocks of messages in requests.

use ai_services_core::message::{Content, Media, MediaSource};
use serde::Serialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Block<'a> {
    Text {
        text: &'a str,
    },
    Image {
        source: Source<'a>,
    },
    Document {
        source: Source<'a>,
    },
    /// In the result of a search: loads the definition of a deferred tool.
    ToolReference {
        tool_name: &'a str,
    },
    ToolUse {
        id: Cow<'a, str>,
        name: &'a str,
        input: &'a RawValue,
    },
    ToolResult {
        tool_use_id: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<Returned<'a>>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

/// The source of media.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(super) enum Source<'a> {
    Base64 { media_type: &'a str, data: &'a str },
    Url { url: &'a str },
}

/// The content of a tool result.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Returned<'a> {
    Text(&'a str),
    Blocks(Vec<Block<'a>>),
}

impl<'a> Block<'a> {
    /// Converts a content to a block. `None` for a blank text, which the API rejects.
    pub(super) fn of(content: &'a Content) -> Result<Option<Self>, &'static str> {
        Ok(Some(match content {
            Content::Text(text) if is_blank(text) => return Ok(None),
            Content::Text(text) => Self::Text { text },
            Content::Image(image) => Self::Image { source: image_source(image.media())? },
            Content::Pdf(pdf) => Self::Document { source: pdf_source(pdf.media()) },
            Content::Audio(_) => return Err("this provider takes no recordings"),
            Content::Video(_) => return Err("this provider takes no videos"),
        }))
    }
}

/// Returns whether a text is empty or only white space.
pub(super) fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

/// Rewrites the id of a call to the characters that the API accepts, because ids of other providers
/// may have others. A call and its result change in the same way.
pub(super) fn id(id: &str) -> Cow<'_, str> {
    let is_accepted = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    match id {
        "" => Cow::Borrowed("_"),
        id if id.chars().all(is_accepted) => Cow::Borrowed(id),
        id => Cow::Owned(id.chars().map(|c| if is_accepted(c) { c } else { '_' }).collect()),
    }
}

fn image_source(media: &Media) -> Result<Source<'_>, &'static str> {
    let (data, media_type) = match &media.source {
        MediaSource::Url(url) => match data_url(url) {
            Some((media_type, data)) => (data, Some(media_type)),
            None => return Ok(Source::Url { url }),
        },
        MediaSource::Base64(data) => (&**data, media.media_type()),
    };
    let media_type = match media_type {
        Some("image/jpeg" | "image/jpg") => "image/jpeg",
        Some(known @ ("image/png" | "image/gif" | "image/webp")) => known,
        Some(_) => return Err("this provider takes images as PNG, JPEG, GIF or WebP"),
        None => return Err("an image given as base64 needs its media type"),
    };
    Ok(Source::Base64 { media_type, data })
}

fn pdf_source(media: &Media) -> Source<'_> {
    let data = match &media.source {
        MediaSource::Url(url) => match data_url(url) {
            Some((_, data)) => data,
            None => return Source::Url { url },
        },
        MediaSource::Base64(data) => data,
    };
    Source::Base64 { media_type: "application/pdf", data }
}

/// Splits a data URL into its media type and its data.
fn data_url(url: &str) -> Option<(&str, &str)> {
    url.strip_prefix("data:")?.split_once(";base64,")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_characters_that_the_api_accepts() {
        assert!(matches!(id("toolu_01-aZ"), Cow::Borrowed("toolu_01-aZ")));
        assert_eq!(id("functions.weather:0"), "functions_weather_0");
        assert_eq!((id("é|"), id("")), ("__".into(), "_".into()));
    }
}
