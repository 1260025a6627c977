//! The JSON form of the parts of a message.

use crate::message::{
    AudioContent, Content, ImageContent, ImageDetail, Media, MediaSource, PdfContent, VideoContent,
};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "SCREAMING_SNAKE_CASE")]
pub(super) enum WireContent<'a> {
    Text {
        text: Cow<'a, str>,
    },
    #[serde(rename_all = "camelCase")]
    Image {
        image: WireMedia<'a>,
        #[serde(default)]
        detail_level: WireDetail,
    },
    Audio {
        audio: WireMedia<'a>,
    },
    Video {
        video: WireMedia<'a>,
    },
    #[serde(rename_all = "camelCase")]
    Pdf {
        pdf_file: WireMedia<'a>,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireMedia<'a> {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    url: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    base64_data: Option<Cow<'a, str>>,
    /// The name of `base64_data` in an audio of LangChain4j that was made from bytes.
    #[serde(default, skip_serializing)]
    binary_data: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mime_type: Option<Cow<'a, str>>,
}

#[derive(Clone, Copy, Default, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(super) enum WireDetail {
    #[default]
    Low,
    Medium,
    High,
    UltraHigh,
    Auto,
}

impl<'a> WireContent<'a> {
    /// Returns the URL of media.
    pub(super) fn url_mut(&mut self) -> Option<&mut Cow<'a, str>> {
        match self {
            Self::Text { .. } => None,
            Self::Image { image: media, .. }
            | Self::Audio { audio: media }
            | Self::Video { video: media }
            | Self::Pdf { pdf_file: media } => media.url.as_mut(),
        }
    }
}

pub(super) fn wire_content(content: &Content) -> WireContent<'_> {
    match content {
        Content::Text(text) => WireContent::Text { text: Cow::Borrowed(text) },
        Content::Image(image) => WireContent::Image {
            image: wire_media(image.media()),
            detail_level: wire_detail(image.detail()),
        },
        Content::Audio(audio) => WireContent::Audio { audio: wire_media(audio.media()) },
        Content::Video(video) => WireContent::Video { video: wire_media(video.media()) },
        Content::Pdf(pdf) => WireContent::Pdf { pdf_file: wire_media(pdf.media()) },
    }
}

pub(super) fn unwire_contents(
    contents: Vec<WireContent<'_>>,
) -> Result<Vec<Content>, &'static str> {
    let unwire = |content| {
        Ok(match content {
            WireContent::Text { text } => Content::Text(text.into()),
            WireContent::Image { image, detail_level } => {
                let image = ImageContent::new(unwire_media(image)?);
                image.with_detail(unwire_detail(detail_level)).into()
            }
            WireContent::Audio { audio } => AudioContent::new(unwire_media(audio)?).into(),
            WireContent::Video { video } => VideoContent::new(unwire_media(video)?).into(),
            WireContent::Pdf { pdf_file } => PdfContent::new(unwire_media(pdf_file)?).into(),
        })
    };
    contents.into_iter().map(unwire).collect()
}

fn wire_media(media: &Media) -> WireMedia<'_> {
    let (url, base64_data) = match &media.source {
        MediaSource::Url(url) => (Some(Cow::Borrowed(&**url)), None),
        MediaSource::Base64(data) => (None, Some(Cow::Borrowed(&**data))),
    };
    WireMedia {
        url,
        base64_data,
        binary_data: None,
        mime_type: media.media_type.as_deref().map(Into::into),
    }
}

fn unwire_media(media: WireMedia<'_>) -> Result<Media, &'static str> {
    let source = match (media.url, media.base64_data.or(media.binary_data)) {
        (Some(url), _) => MediaSource::Url(url.into()),
        (None, Some(data)) => MediaSource::Base64(data.into()),
        (None, None) => return Err("media content has neither `url` nor `base64Data`"),
    };
    Ok(Media { source, media_type: media.mime_type.map(Into::into) })
}

fn wire_detail(detail: ImageDetail) -> WireDetail {
    match detail {
        ImageDetail::Low => WireDetail::Low,
        ImageDetail::Medium => WireDetail::Medium,
        ImageDetail::High => WireDetail::High,
        ImageDetail::UltraHigh => WireDetail::UltraHigh,
        ImageDetail::Auto => WireDetail::Auto,
    }
}

fn unwire_detail(detail: WireDetail) -> ImageDetail {
    match detail {
        WireDetail::Low => ImageDetail::Low,
        WireDetail::Medium => ImageDetail::Medium,
        WireDetail::High => ImageDetail::High,
        WireDetail::UltraHigh => ImageDetail::UltraHigh,
        WireDetail::Auto => ImageDetail::Auto,
    }
}
