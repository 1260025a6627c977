//! Parts of a message: text, images and other media.

use std::fmt;

/// One part of a user message or of a tool's result.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Content {
    /// Plain text.
    Text(Box<str>),
    /// An image, with the resolution that the model should look at.
    Image(Box<Media>, ImageDetail),
    /// A sound recording.
    Audio(Box<Media>),
    /// A film.
    Video(Box<Media>),
    /// A PDF document.
    Pdf(Box<Media>),
}

impl Content {
    /// An image behind a URL. The library never fetches it.
    #[must_use]
    pub fn image_url(url: impl Into<Box<str>>) -> Self {
        Self::Image(Box::new(Media::url(url)), ImageDetail::default())
    }

    /// The text, if it is one.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

/// How closely a model should look at an image; `Low` unless told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ImageDetail {
    /// A thumbnail: few tokens.
    #[default]
    Low,
    /// Something between.
    Medium,
    /// The whole image.
    High,
    /// More than the model's usual best, where it has such a mode.
    UltraHigh,
    /// What the model thinks fit.
    Auto,
}

/// An image, a recording, a film or a document.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct Media {
    /// Where the bytes are.
    pub source: MediaSource,
    /// The media type, for example `image/png`.
    pub media_type: Option<Box<str>>,
}

/// Where the bytes of a [`Media`] are.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub enum MediaSource {
    /// Behind a URL that the provider fetches.
    Url(Box<str>),
    /// Here, encoded as base64.
    Base64(Box<str>),
}

impl Media {
    /// Media behind a URL.
    #[must_use]
    pub fn url(url: impl Into<Box<str>>) -> Self {
        Self { source: MediaSource::Url(url.into()), media_type: None }
    }

    /// Media given as base64, with its media type.
    #[must_use]
    pub fn base64(data: impl Into<Box<str>>, media_type: impl Into<Box<str>>) -> Self {
        Self { source: MediaSource::Base64(data.into()), media_type: Some(media_type.into()) }
    }

    /// The length of the URL or of the encoded bytes.
    pub(crate) fn len(&self) -> usize {
        match &self.source {
            MediaSource::Url(text) | MediaSource::Base64(text) => text.len(),
        }
    }
}

impl fmt::Debug for Media {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Media");
        out.field("media_type", &self.media_type);
        match &self.source {
            MediaSource::Url(url) => out.field("url", url),
            MediaSource::Base64(data) => out.field("base64_len", &data.len()),
        };
        out.finish()
    }
}

impl fmt::Debug for MediaSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(url) => f.debug_tuple("Url").field(url).finish(),
            Self::Base64(data) => write!(f, "Base64({} characters)", data.len()),
        }
    }
}

/// One or more parts. One part, the usual case, costs no allocation beside its text.
#[derive(Clone, PartialEq)]
pub(super) enum Contents {
    One([Content; 1]),
    Many(Box<[Content]>),
}

impl Contents {
    pub(super) fn text(text: impl Into<Box<str>>) -> Self {
        Self::One([Content::Text(text.into())])
    }

    pub(super) fn as_slice(&self) -> &[Content] {
        match self {
            Self::One(one) => one,
            Self::Many(many) => many,
        }
    }

    /// The text, if there is one part and it is text.
    pub(super) fn single_text(&self) -> Option<&str> {
        match self.as_slice() {
            [Content::Text(text)] => Some(text),
            _ => None,
        }
    }
}

impl FromIterator<Content> for Contents {
    fn from_iter<I: IntoIterator<Item = Content>>(contents: I) -> Self {
        let contents: Vec<Content> = contents.into_iter().collect();
        match <[Content; 1]>::try_from(contents) {
            Ok(one) => Self::One(one),
            Err(many) => Self::Many(many.into_boxed_slice()),
        }
    }
}

impl fmt::Debug for Contents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_slice().fmt(f)
    }
}
