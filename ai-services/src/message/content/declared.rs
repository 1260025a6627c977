//! Bytes of which somebody says what they are.

use super::detect::{self, Kind};
use super::{AudioContent, Content, ImageContent, Media, PdfContent, VideoContent};
use crate::error::{Error, ErrorKind, Result};

impl Content {
    /// Media of which `declared` is the `content-type`, if the bytes agree.
    ///
    /// What the bytes say wins where both are of one kind, because servers confuse JPEG and PNG. What
    /// is declared wins between sound and film: the same container holds both.
    #[cfg_attr(not(feature = "http"), allow(dead_code, reason = "nothing is fetched without it"))]
    pub(crate) fn of_declared_type(bytes: &[u8], declared: Option<&str>) -> Result<Self> {
        let Some((kind, found)) = detect::detect(bytes) else {
            return Err(match declared.map(essence) {
                Some(declared) => disagreement(&declared, "of no known type"),
                None => detect::unknown("media", bytes),
            });
        };
        let declared = declared.map(essence).filter(|declared| !says_nothing(declared));
        let (kind, media_type) = match &declared {
            None => (kind, found),
            Some(declared) => match (kind, Kind::of(declared)) {
                (_, Some(same)) if same == kind => (kind, found),
                (Kind::Audio | Kind::Video, Some(other @ (Kind::Audio | Kind::Video))) => {
                    (other, declared.as_str())
                }
                _ => return Err(disagreement(declared, found)),
            },
        };
        // The size was limited while the bytes were read.
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

/// A media type without its parameters.
fn essence(content_type: &str) -> String {
    content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Whether a server that knows nothing of a file sends this.
fn says_nothing(media_type: &str) -> bool {
    let nothing = ["", "application/octet-stream", "binary/octet-stream", "application/ogg"];
    nothing.contains(&media_type)
}

fn disagreement(declared: &str, found: &str) -> Error {
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
    fn bytes_and_declaration_have_to_agree() {
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
