//! Parts of a message: text, images and other media.

mod declared;
mod detect;
mod file;
mod kinds;
mod media;
mod to_contents;

#[cfg(test)]
mod tests;

pub use kinds::{AudioContent, ImageContent, ImageDetail, PdfContent, VideoContent};
pub use media::{Media, MediaSource};
pub use to_contents::ToContents;

use crate::error::Result;
use std::fmt;
use std::path::Path;

/// One part of a user message or of a tool result.
///
/// Cheap to clone except for long texts: media are shared.
///
/// # Examples
///
/// ```
/// use ai_services::message::{Content, ImageContent, ImageDetail, PdfContent};
///
/// let contents: Vec<Content> = vec![
///     "Does the plan match the photo?".into(),
///     ImageContent::url("https://example.org/house.jpg").with_detail(ImageDetail::High).into(),
///     PdfContent::bytes(b"%PDF-1.7 \xE2\xE3")?.into(),
/// ];
/// assert_eq!(contents[0].text(), Some("Does the plan match the photo?"));
/// assert_eq!(contents[2].media().and_then(|media| media.media_type()), Some("application/pdf"));
/// # Ok::<(), ai_services::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Plain text.
    Text(Box<str>),
    /// An image, with the resolution at which the model should view it.
    Image(ImageContent),
    /// An audio recording.
    Audio(AudioContent),
    /// A video.
    Video(VideoContent),
    /// A PDF document.
    Pdf(PdfContent),
}

impl Content {
    /// Creates an image with a URL. The library never fetches it.
    #[must_use]
    pub fn image_url(url: impl Into<Box<str>>) -> Self {
        ImageContent::url(url).into()
    }

    /// Creates media from bytes. The media type is detected from the first bytes.
    ///
    /// At most [`Media::MAX_BYTES`]. Detects the types in the table of [`Media`]. For any other
    /// type, name it: `ImageContent::new(Media::bytes(bytes, "image/x-icon")?)`.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Media`](crate::ErrorKind::Media) for too many bytes or an unknown type.
    pub fn bytes(bytes: impl AsRef<[u8]>) -> Result<Self> {
        Self::bytes_up_to(bytes, Media::MAX_BYTES)
    }

    /// Same as [`bytes`](Self::bytes), with a limit other than [`Media::MAX_BYTES`].
    ///
    /// # Errors
    ///
    /// Same as [`bytes`](Self::bytes).
    pub fn bytes_up_to(bytes: impl AsRef<[u8]>, max_bytes: usize) -> Result<Self> {
        let bytes = bytes.as_ref();
        let Some((kind, media_type)) = detect::detect(bytes) else {
            return Err(detect::unknown("media", bytes));
        };
        let media = Media::bytes_up_to(bytes, media_type, max_bytes)?;
        Ok(Self::of_kind(kind, media))
    }

    /// Reads media from a file of at most [`Media::MAX_BYTES`]. See [`bytes`](Self::bytes) for the
    /// type.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Media`](crate::ErrorKind::Media) if the file cannot be read, is too
    /// large or is of an unknown type, and
    /// [`ErrorKind::Configuration`](crate::ErrorKind::Configuration) outside of a Tokio runtime.
    pub async fn file(path: impl AsRef<Path>) -> Result<Self> {
        Self::bytes(file::read(path.as_ref(), Media::MAX_BYTES).await?)
    }

    /// Returns the text of a text part.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the media of an image, audio, video or PDF part.
    #[must_use]
    pub fn media(&self) -> Option<&Media> {
        match self {
            Self::Text(_) => None,
            Self::Image(image) => Some(image.media()),
            Self::Audio(audio) => Some(audio.media()),
            Self::Video(video) => Some(video.media()),
            Self::Pdf(pdf) => Some(pdf.media()),
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

/// One or more parts. A single part, the usual case, needs no allocation besides its text.
#[derive(Clone, PartialEq)]
pub(crate) enum Contents {
    One([Content; 1]),
    Many(Box<[Content]>),
}

impl Contents {
    pub(crate) fn text(text: impl Into<Box<str>>) -> Self {
        Self::One([Content::Text(text.into())])
    }

    pub(crate) fn as_slice(&self) -> &[Content] {
        match self {
            Self::One(one) => one,
            Self::Many(many) => many,
        }
    }

    /// Returns the text, if there is a single part and it is text.
    pub(crate) fn single_text(&self) -> Option<&str> {
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
