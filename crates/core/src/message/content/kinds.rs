//! Images, audio, videos and PDF documents as parts of a message.

use super::detect::{self, Kind};
use super::media::Media;
use super::{Content, file};
use crate::error::Result;
use std::path::Path;
use std::sync::Arc;

/// The resolution at which a model views an image. Default: [`Low`](Self::Low).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ImageDetail {
    /// A thumbnail, for few tokens.
    #[default]
    Low,
    /// A resolution between low and high.
    Medium,
    /// The full resolution of the image.
    High,
    /// More than the usual maximum, for models with a mode of this kind.
    UltraHigh,
    /// The choice of the model.
    Auto,
}

/// Defines a type for one [`Media`] of one kind, with all of its constructors.
macro_rules! media_content {
    ($(#[$documentation:meta])* $name:ident, $kind:ident $(, $field:ident: $type:ty)?) => {
        $(#[$documentation])*
        ///
        /// The bytes are behind a URL, or stored in the message. Cheap to clone: clones share the
        /// bytes.
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            media: Arc<Media>,
            $($field: $type,)?
        }

        impl $name {
            /// Creates the content from media of any type. The type is not checked.
            #[must_use]
            pub fn new(media: Media) -> Self {
                Self { media: Arc::new(media), $($field: <$type>::default(),)? }
            }

            /// Creates the content from a URL that the provider must be able to reach. The library
            /// never fetches it.
            #[must_use]
            pub fn url(url: impl Into<Box<str>>) -> Self {
                Self::new(Media::url(url))
            }

            /// Creates the content from base64 (standard alphabet, padded) and its media type. Both
            /// are used unchecked.
            #[must_use]
            pub fn base64(data: impl Into<Box<str>>, media_type: impl Into<Box<str>>) -> Self {
                Self::new(Media::base64(data, media_type))
            }

            /// Creates the content from at most [`Media::MAX_BYTES`] bytes. The media type is
            /// detected from the first bytes.
            ///
            /// # Errors
            ///
            /// Returns [`ErrorKind::Media`](crate::ErrorKind::Media) for too many bytes, and for
            /// bytes of another or an unknown kind. The message names the detected type.
            pub fn bytes(bytes: impl AsRef<[u8]>) -> Result<Self> {
                Self::bytes_up_to(bytes, Media::MAX_BYTES)
            }

            /// Same as [`bytes`](Self::bytes), with another limit.
            ///
            /// # Errors
            ///
            /// Same as [`bytes`](Self::bytes).
            pub fn bytes_up_to(bytes: impl AsRef<[u8]>, max_bytes: usize) -> Result<Self> {
                let bytes = bytes.as_ref();
                let media_type = detect::expect(Kind::$kind, bytes)?;
                Media::bytes_up_to(bytes, media_type, max_bytes).map(Self::new)
            }

            /// Reads the content from a file of at most [`Media::MAX_BYTES`]. The media type is
            /// detected from the first bytes, not from the file name. The size is checked before
            /// and during reading.
            ///
            /// # Errors
            ///
            /// Returns [`ErrorKind::Media`](crate::ErrorKind::Media) if the file cannot be read,
            /// and in the cases of [`bytes`](Self::bytes). Returns
            /// [`ErrorKind::Configuration`](crate::ErrorKind::Configuration) outside of a Tokio
            /// runtime.
            pub async fn file(path: impl AsRef<Path>) -> Result<Self> {
                Self::file_up_to(path, Media::MAX_BYTES).await
            }

            /// Same as [`file`](Self::file), with another limit.
            ///
            /// # Errors
            ///
            /// Same as [`file`](Self::file).
            pub async fn file_up_to(path: impl AsRef<Path>, max_bytes: usize) -> Result<Self> {
                Self::bytes_up_to(file::read(path.as_ref(), max_bytes).await?, max_bytes)
            }

            /// Returns the media: the bytes or their URL.
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
    /// An image, with the resolution at which the model should view it.
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
    /// An audio recording.
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
    /// A video.
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
    /// Sets the resolution at which the model views the image.
    #[must_use]
    pub fn with_detail(self, detail: ImageDetail) -> Self {
        Self { detail, ..self }
    }

    /// Returns the resolution at which the model views the image.
    #[must_use]
    pub fn detail(&self) -> ImageDetail {
        self.detail
    }
}
