//! The JSON form of the parts of a message.

use super::tagged::{self, Tagged};
use super::text::WireText;
use crate::message::{
    AudioContent, Content, ImageContent, ImageDetail, Media, MediaSource, PdfContent, VideoContent,
};
use serde::{Deserialize, Deserializer, Serialize};

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "SCREAMING_SNAKE_CASE")]
pub(super) enum WireContent<'a> {
    Text(WireTextContent<'a>),
    Image(WireImage<'a>),
    Audio(WireAudio<'a>),
    Video(WireVideo<'a>),
    Pdf(WirePdf<'a>),
}

/// The types of parts.
#[derive(Deserialize)]
#[serde(variant_identifier, rename_all = "SCREAMING_SNAKE_CASE")]
pub(super) enum ContentTag {
    Text,
    Image,
    Audio,
    Video,
    Pdf,
}

#[derive(Serialize, Deserialize)]
pub(super) struct WireTextContent<'a> {
    #[serde(borrow)]
    pub(super) text: WireText<'a>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireImage<'a> {
    #[serde(borrow)]
    image: WireMedia<'a>,
    #[serde(default)]
    detail_level: WireDetail,
}

#[derive(Serialize, Deserialize)]
pub(super) struct WireAudio<'a> {
    #[serde(borrow)]
    audio: WireMedia<'a>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct WireVideo<'a> {
    #[serde(borrow)]
    video: WireMedia<'a>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WirePdf<'a> {
    #[serde(borrow)]
    pdf_file: WireMedia<'a>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireMedia<'a> {
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    url: Option<WireText<'a>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    base64_data: Option<WireText<'a>>,
    /// The name of `base64_data` in an audio of LangChain4j that was made from bytes.
    #[serde(borrow, default, skip_serializing)]
    binary_data: Option<WireText<'a>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    mime_type: Option<WireText<'a>>,
}

#[derive(Clone, Copy, Default, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum WireDetail {
    #[default]
    Low,
    Medium,
    High,
    UltraHigh,
    Auto,
}

impl<'a> WireContent<'a> {
    pub(super) fn text(text: &'a str) -> Self {
        Self::Text(WireTextContent { text: text.into() })
    }

    /// Returns the URL of media.
    pub(super) fn url_mut(&mut self) -> Option<&mut WireText<'a>> {
        match self {
            Self::Text(_) => None,
            Self::Image(WireImage { image: media, .. })
            | Self::Audio(WireAudio { audio: media })
            | Self::Video(WireVideo { video: media })
            | Self::Pdf(WirePdf { pdf_file: media }) => media.url.as_mut(),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for WireContent<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        tagged::deserialize(deserializer)
    }
}

impl<'de: 'a, 'a> Tagged<'de> for WireContent<'a> {
    type Tag = ContentTag;

    fn read<D: Deserializer<'de>>(tag: ContentTag, fields: D) -> Result<Self, D::Error> {
        match tag {
            ContentTag::Text => Deserialize::deserialize(fields).map(Self::Text),
            ContentTag::Image => Deserialize::deserialize(fields).map(Self::Image),
            ContentTag::Audio => Deserialize::deserialize(fields).map(Self::Audio),
            ContentTag::Video => Deserialize::deserialize(fields).map(Self::Video),
            ContentTag::Pdf => Deserialize::deserialize(fields).map(Self::Pdf),
        }
    }
}

pub(super) fn wire_content(content: &Content) -> WireContent<'_> {
    match content {
        Content::Text(text) => WireContent::text(text),
        Content::Image(image) => WireContent::Image(WireImage {
            image: wire_media(image.media()),
            detail_level: wire_detail(image.detail()),
        }),
        Content::Audio(audio) => WireContent::Audio(WireAudio { audio: wire_media(audio.media()) }),
        Content::Video(video) => WireContent::Video(WireVideo { video: wire_media(video.media()) }),
        Content::Pdf(pdf) => WireContent::Pdf(WirePdf { pdf_file: wire_media(pdf.media()) }),
    }
}

pub(super) fn unwire_contents(
    contents: Vec<WireContent<'_>>,
) -> Result<Vec<Content>, &'static str> {
    contents.into_iter().map(unwire_content).collect()
}

fn unwire_content(content: WireContent<'_>) -> Result<Content, &'static str> {
    Ok(match content {
        WireContent::Text(WireTextContent { text }) => Content::Text(text.into()),
        WireContent::Image(WireImage { image, detail_level }) => {
            let image = ImageContent::new(unwire_media(image)?);
            image.with_detail(unwire_detail(detail_level)).into()
        }
        WireContent::Audio(WireAudio { audio }) => AudioContent::new(unwire_media(audio)?).into(),
        WireContent::Video(WireVideo { video }) => VideoContent::new(unwire_media(video)?).into(),
        WireContent::Pdf(WirePdf { pdf_file }) => PdfContent::new(unwire_media(pdf_file)?).into(),
    })
}

fn wire_media(media: &Media) -> WireMedia<'_> {
    let (url, base64_data) = match &media.source {
        MediaSource::Url(url) => (Some((&**url).into()), None),
        MediaSource::Base64(data) => (None, Some((&**data).into())),
    };
    let mime_type = media.media_type.as_deref().map(Into::into);
    WireMedia { url, base64_data, binary_data: None, mime_type }
}

fn unwire_media(media: WireMedia<'_>) -> Result<Media, &'static str> {
    let source = match (media.url, media.base64_data.or(media.binary_data)) {
        (Some(url), _) => MediaSource::Url(url.0.into()),
        (None, Some(data)) => MediaSource::Base64(data.0.into()),
        (None, None) => return Err("media content has neither `url` nor `base64Data`"),
    };
    Ok(Media { source, media_type: media.mime_type.map(|it| it.0.into()) })
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
