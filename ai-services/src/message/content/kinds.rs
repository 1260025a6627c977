//! Images, recordings, films and documents as parts of a message.

use super::detect::{self, Kind};
use super::media::Media;
use super::{Content, file};
use crate::error::Result;
use std::path::Path;
use std::sync::Arc;

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

/// A type that holds one [`Media`] of one kind, with all of its constructors.
macro_rules! media_content {
    ($(#[$documentation:meta])* $name:ident, $kind:ident $(, $field:ident: $type:ty)?) => {
        $(#[$documentation])*
        ///
        /// The bytes may be behind a URL, in a file, or here. Cheap to clone: they are shared.
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            media: Arc<Media>,
            $($field: $type,)?
        }

        impl $name {
            /// From media of whatever type; nothing is checked.
            #[must_use]
            pub fn new(media: Media) -> Self {
                Self { media: Arc::new(media), $($field: <$type>::default(),)? }
            }

            /// Behind a URL, which the provider has to be able to reach. It is not fetched here.
            #[must_use]
            pub fn url(url: impl Into<Box<str>>) -> Self {
                Self::new(Media::url(url))
            }

            /// Given as base64 (standard alphabet, padded), with the media type. Nothing is checked.
            #[must_use]
            pub fn base64(data: impl Into<Box<str>>, media_type: impl Into<Box<str>>) -> Self {
                Self::new(Media::base64(data, media_type))
            }

            /// From at most [`Media::MAX_BYTES`] bytes; the type is told by how they begin.
            ///
            /// # Errors
            ///
            /// [`ErrorKind::Media`](crate::ErrorKind::Media) for too many bytes, and for bytes of
            /// another or an unknown kind; the message says what they are.
            pub fn bytes(bytes: impl AsRef<[u8]>) -> Result<Self> {
                Self::bytes_up_to(bytes, Media::MAX_BYTES)
            }

            /// As [`bytes`](Self::bytes), with another limit.
            ///
            /// # Errors
            ///
            /// As [`bytes`](Self::bytes).
            pub fn bytes_up_to(bytes: impl AsRef<[u8]>, max_bytes: usize) -> Result<Self> {
                let bytes = bytes.as_ref();
                let media_type = detect::expect(Kind::$kind, bytes)?;
                Media::bytes_up_to(bytes, media_type, max_bytes).map(Self::new)
            }

            /// From a file of at most [`Media::MAX_BYTES`]; the type is told by how it begins, not
            /// by its name. The size is checked before and while it is read.
            ///
            /// # Errors
            ///
            /// [`ErrorKind::Media`](crate::ErrorKind::Media) if there is no such file, and as
            /// [`bytes`](Self::bytes); [`ErrorKind::Configuration`](crate::ErrorKind::Configuration)
            /// outside of a Tokio runtime.
            pub async fn file(path: impl AsRef<Path>) -> Result<Self> {
                Self::file_up_to(path, Media::MAX_BYTES).await
            }

            /// As [`file`](Self::file), with another limit.
            ///
            /// # Errors
            ///
            /// As [`file`](Self::file).
            pub async fn file_up_to(path: impl AsRef<Path>, max_bytes: usize) -> Result<Self> {
                Self::bytes_up_to(file::read(path.as_ref(), max_bytes).await?, max_bytes)
            }

            /// The bytes, or where they are.
            #[must_use]
            pub fn media(&self) -> &Media {
                &self.media
            }
        }

        impl From<$name> for Content {
            fn from(content: $name) -> Self {
                Self::$kind(content)
            }
        }
    };
}

media_content! {
    /// An image, with the resolution that the model should look at.
    ///
    /// # Examples
    ///
    /// ```
    /// use ai_services::message::{ImageContent, ImageDetail};
    ///
    /// let cat = ImageContent::url("https://example.org/cat.png").with_detail(ImageDetail::High);
    /// assert_eq!(cat.detail(), ImageDetail::High);
    ///
    /// let png = ImageContent::bytes(b"\x89PNG\r\n\x1a\n")?;
    /// assert_eq!(png.media().media_type(), Some("image/png"));
    ///
    /// let wrong = ImageContent::bytes(b"%PDF-1.7").unwrap_err().to_string();
    /// assert!(wrong.starts_with("expected an image, found `application/pdf`"));
    /// # Ok::<(), ai_services::Error>(())
    /// ```
    ImageContent, Image, detail: ImageDetail
}

media_content! {
    /// A sound recording.
    ///
    /// # Examples
    ///
    /// ```
    /// use ai_services::message::AudioContent;
    ///
    /// let song = AudioContent::bytes(b"fLaC\0\0\0\x22")?;
    /// assert_eq!(song.media().media_type(), Some("audio/flac"));
    /// # Ok::<(), ai_services::Error>(())
    /// ```
    AudioContent, Audio
}

media_content! {
    /// A film.
    ///
    /// # Examples
    ///
    /// ```
    /// use ai_services::message::VideoContent;
    ///
    /// let film = VideoContent::bytes(b"\0\0\0\x18ftypmp42\0\0\0\0")?;
    /// assert_eq!(film.media().media_type(), Some("video/mp4"));
    /// # Ok::<(), ai_services::Error>(())
    /// ```
    VideoContent, Video
}

media_content! {
    /// A PDF document.
    ///
    /// # Examples
    ///
    /// ```
    /// use ai_services::message::PdfContent;
    ///
    /// let paper = PdfContent::bytes(b"%PDF-1.7\n")?;
    /// assert_eq!(paper.media().media_type(), Some("application/pdf"));
    /// # Ok::<(), ai_services::Error>(())
    /// ```
    #[doc(alias = "PdfFileContent")]
    PdfContent, Pdf
}

impl ImageContent {
    /// The same image, looked at as closely as this.
    #[must_use]
    pub fn with_detail(self, detail: ImageDetail) -> Self {
        Self { detail, ..self }
    }

    /// How closely the model should look at it.
    #[must_use]
    pub fn detail(&self) -> ImageDetail {
        self.detail
    }
}
