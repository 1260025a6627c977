//! Media: bytes with a media type, or a URL.

use crate::error::{Error, ErrorKind, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::fmt;

/// An image, audio recording, video or PDF document: its bytes or URL, and its media type.
///
/// Usually created by [`ImageContent`](super::ImageContent), [`AudioContent`](super::AudioContent),
/// [`VideoContent`](super::VideoContent) and [`PdfContent`](super::PdfContent), which detect these
/// types from the first bytes:
///
/// | kind | types |
/// |---|---|
/// | image | PNG, JPEG, GIF, WebP, BMP, TIFF, HEIC, HEIF, AVIF |
/// | audio | WAV, MP3, Ogg, FLAC, AAC (ADTS), M4A |
/// | video | MP4, MOV, WEBM, Matroska, AVI, 3GP, Ogg Theora |
/// | PDF | PDF |
///
/// The provider decides which of these types a model accepts. The library converts none of them.
///
/// # Examples
///
/// Name the type if it is not detected, or detected incorrectly:
///
/// ```
/// use ai_services::message::{AudioContent, ImageContent, Media};
///
/// let icon = ImageContent::new(Media::bytes([0, 0, 1, 0], "image/x-icon")?);
/// assert_eq!(icon.media().media_type(), Some("image/x-icon"));
/// // Audio only, but in a container that could also hold a video.
/// let sound = AudioContent::new(Media::bytes(b"\0\0\0\x18ftypisom", "audio/mp4")?);
/// # Ok::<(), ai_services::Error>(())
/// ```
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct Media {
    /// The bytes or their URL.
    pub source: MediaSource,
    /// The media type, for example `image/png`.
    pub media_type: Option<Box<str>>,
}

/// The location of the bytes of a [`Media`].
#[derive(Clone, PartialEq)]
pub enum MediaSource {
    /// A URL that the provider fetches.
    Url(Box<str>),
    /// The bytes themselves, encoded as base64.
    Base64(Box<str>),
}

impl Media {
    /// The default limit for the size of media: 20 MiB, approximately the maximum that providers
    /// accept in one request.
    pub const MAX_BYTES: usize = 20 << 20;

    /// Creates media from a URL that the provider must be able to reach. The library never fetches
    /// it.
    #[must_use]
    pub fn url(url: impl Into<Box<str>>) -> Self {
        Self { source: MediaSource::Url(url.into()), media_type: None }
    }

    /// Creates media from base64 (standard alphabet, padded) and its media type. Both are used
    /// unchecked.
    #[must_use]
    pub fn base64(data: impl Into<Box<str>>, media_type: impl Into<Box<str>>) -> Self {
        Self { source: MediaSource::Base64(data.into()), media_type: Some(media_type.into()) }
    }

    /// Creates media from at most [`MAX_BYTES`](Self::MAX_BYTES) bytes of a known type. The type is
    /// not checked.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Media`] for too many bytes.
    pub fn bytes(bytes: impl AsRef<[u8]>, media_type: impl Into<Box<str>>) -> Result<Self> {
        Self::bytes_up_to(bytes, media_type, Self::MAX_BYTES)
    }

    /// Same as [`bytes`](Self::bytes), with another limit.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Media`] for more than `max_bytes` bytes.
    pub fn bytes_up_to(
        bytes: impl AsRef<[u8]>,
        media_type: impl Into<Box<str>>,
        max_bytes: usize,
    ) -> Result<Self> {
        let bytes = bytes.as_ref();
        if bytes.len() > max_bytes {
            return Err(too_large(bytes.len(), max_bytes));
        }
        Ok(Self::base64(STANDARD.encode(bytes), media_type))
    }

    /// Sets the media type.
    #[must_use]
    pub fn with_media_type(self, media_type: impl Into<Box<str>>) -> Self {
        Self { media_type: Some(media_type.into()), ..self }
    }

    /// Returns the media type, if it is known. The type behind a URL usually is not.
    #[must_use]
    pub fn media_type(&self) -> Option<&str> {
        self.media_type.as_deref()
    }

    /// Returns the length of the URL or of the encoded bytes.
    pub(crate) fn len(&self) -> usize {
        match &self.source {
            MediaSource::Url(text) | MediaSource::Base64(text) => text.len(),
        }
    }
}

pub(super) fn too_large(size: usize, max: usize) -> Error {
    Error::new(
        ErrorKind::Media,
        format!(
            "the media have {size} bytes, but the limit is {max}; `bytes_up_to` and `file_up_to` set a higher one"
        ),
    )
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
