//! Media with a declared content type.

use super::detect::{self, Kind};
use super::{AudioContent, Content, ImageContent, Media, PdfContent, VideoContent};
use crate::error::{Error, ErrorKind, Result};

impl Content {
    /// Creates media from bytes with the content type `declared`, if the bytes match it.
    ///
    /// If both are of the same kind, the detected type wins, because servers confuse JPEG and PNG.
    /// Between audio and video, the declared type wins, because the same container holds both.
    #[doc(hidden)]
    pub fn of_declared_type(bytes: &[u8], declared: Option<&str>) -> Result<Self> {
        let Some((kind, found)) = detect::detect(bytes) else {
            return Err(match declared.map(essence) {
                Some(declared) => type_mismatch(&declared, "of an unknown type"),
                None => detect::unknown("media", bytes),
            });
        };
        let declared = declared.map(essence).filter(|declared| !is_unspecific(declared));
        let (kind, media_type) = match &declared {
            None => (kind, found),
            Some(declared) => match (kind, Kind::of(declared)) {
                (_, Some(same)) if same == kind => (kind, found),
                (Kind::Audio | Kind::Video, Some(other @ (Kind::Audio | Kind::Video))) => {
                    (other, declared.as_str())
                }
                _ => return Err(type_mismatch(declared, found)),
            },
        };
        // The caller limited the size while it read the bytes.
        let media = Media::bytes_up_to(bytes, media_type, usize::MAX)?;
        Ok(Self::of_kind(kind, media))
    }

    pub(super) fn of_kind(kind: Kind, media: Media) -> Self {
        match kind {
            Kind::Image => ImageContent::new(media).into(),
            Kind::Audio => AudioContent::new(media).into(),
            Kind::Video => VideoContent::new(media).into(),
            Kind::Pdf => PdfContent::new(media).into(),
        }
    }
}

/// Returns a media type in lower case and without its parameters.
fn essence(content_type: &str) -> String {
    content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Returns `true` for the types that servers send for files of unknown type.
fn is_unspecific(media_type: &str) -> bool {
    let unspecific = ["", "application/octet-stream", "binary/octet-stream", "application/ogg"];
    unspecific.contains(&media_type)
}

fn type_mismatch(declared: &str, found: &str) -> Error {
    let declared: String = declared.chars().take(80).collect();
    Error::new(
        ErrorKind::Media,
        format!("the bytes are declared as `{}`, but are {found}", declared.escape_debug()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn media_type(bytes: &[u8], declared: &str) -> Result<String> {
        let content = Content::of_declared_type(bytes, Some(declared))?;
        Ok(content.media().and_then(Media::media_type).unwrap_or_default().to_owned())
    }

    #[test]
    fn declared_type_must_match_the_bytes() {
        let png = b"\x89PNG\r\n\x1a\n";
        let film = b"\0\0\0\x18ftypisom\0\0\0\0";
        for (bytes, declared, expected) in [
            (&png[..], "image/png; charset=binary", "image/png"),
            (png, "IMAGE/JPEG", "image/png"),
            (png, "application/octet-stream", "image/png"),
            (film, "audio/mp4", "audio/mp4"),
            (film, "video/mp4", "video/mp4"),
            (b"%PDF-1.7", "application/pdf", "application/pdf"),
        ] {
            assert_eq!(media_type(bytes, declared).unwrap(), expected, "{declared}");
        }
        for (bytes, declared) in [
            (&png[..], "text/html"),
            (png, "application/pdf"),
            (film, "image/png"),
            (b"<html>", "image/png"),
            (b"<html>", "text/html"),
        ] {
            let error = media_type(bytes, declared).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Media);
            assert!(error.to_string().contains(declared), "{error}");
        }
    }
}
