//! Bytes of a known type, or where they are.

use super::base64;
use crate::error::{Error, ErrorKind, Result};
use std::fmt;

/// An image, a recording, a film or a document: where its bytes are, and their media type.
///
/// Mostly made by [`ImageContent`](super::ImageContent), [`AudioContent`](super::AudioContent),
/// [`VideoContent`](super::VideoContent) and [`PdfContent`](super::PdfContent), which recognise these
/// types by how the bytes begin:
///
/// | kind | types |
/// |---|---|
/// | image | PNG, JPEG, GIF, WebP, BMP, TIFF, HEIC, HEIF, AVIF |
/// | audio | WAV, MP3, Ogg, FLAC, AAC (ADTS), M4A |
/// | video | MP4, MOV, WEBM, Matroska, AVI, 3GP, Ogg Theora |
/// | PDF | PDF |
///
/// What a model understands of these is the provider's business: nothing is converted.
///
/// # Examples
///
/// A type that is not recognised, or is recognised wrongly, is named:
///
/// ```
/// use ai_services::message::{AudioContent, ImageContent, Media};
///
/// let icon = ImageContent::new(Media::bytes([0, 0, 1, 0], "image/x-icon")?);
/// assert_eq!(icon.media().media_type(), Some("image/x-icon"));
/// // Only sound, but in a file that could be a film.
/// let sound = AudioContent::new(Media::bytes(b"\0\0\0\x18ftypisom", "audio/mp4")?);
/// # Ok::<(), ai_services::Error>(())
/// ```
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
    /// The most bytes that are taken unless somebody says otherwise: 20 MiB, about what providers
    /// accept in one request.
    pub const MAX_BYTES: usize = 20 << 20;

    /// Media behind a URL, which the provider has to be able to reach. It is not fetched here.
    #[must_use]
    pub fn url(url: impl Into<Box<str>>) -> Self {
        Self { source: MediaSource::Url(url.into()), media_type: None }
    }

    /// Media given as base64 (standard alphabet, padded), with its media type. Nothing is checked.
    #[must_use]
    pub fn base64(data: impl Into<Box<str>>, media_type: impl Into<Box<str>>) -> Self {
        Self { source: MediaSource::Base64(data.into()), media_type: Some(media_type.into()) }
    }

    /// Media from at most [`MAX_BYTES`](Self::MAX_BYTES) bytes of a known type, which is not checked.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Media`] for too many bytes.
    pub fn bytes(bytes: impl AsRef<[u8]>, media_type: impl Into<Box<str>>) -> Result<Self> {
        Self::bytes_up_to(bytes, media_type, Self::MAX_BYTES)
    }

    /// As [`bytes`](Self::bytes), with another limit.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Media`] for more than `max_bytes` bytes.
    pub fn bytes_up_to(
        bytes: impl AsRef<[u8]>,
        media_type: impl Into<Box<str>>,
        max_bytes: usize,
    ) -> Result<Self> {
        let bytes = bytes.as_ref();
        match bytes.len() {
            size if size > max_bytes => Err(too_large(size, max_bytes)),
            _ => Ok(Self::base64(base64::encode(bytes), media_type)),
        }
    }

    /// The same media with this media type.
    #[must_use]
    pub fn with_media_type(self, media_type: impl Into<Box<str>>) -> Self {
        Self { media_type: Some(media_type.into()), ..self }
    }

    /// The media type, if it is known. That of a URL mostly is not.
    #[must_use]
    pub fn media_type(&self) -> Option<&str> {
        self.media_type.as_deref()
    }

    /// The length of the URL or of the encoded bytes.
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
            "the media have {size} bytes; at most {max} are allowed, `bytes_up_to` and `file_up_to` allow more"
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
