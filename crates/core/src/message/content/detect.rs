//! Detection of media types from the first bytes.

use crate::error::{Error, ErrorKind};

/// The kind of a medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Image,
    Audio,
    Video,
    Pdf,
}

impl Kind {
    /// Returns the kind of a media type.
    pub(super) fn of(media_type: &str) -> Option<Self> {
        Some(match media_type.split_once('/')? {
            ("image", _) => Self::Image,
            ("audio", _) => Self::Audio,
            ("video", _) => Self::Video,
            ("application", "pdf") => Self::Pdf,
            _ => return None,
        })
    }

    fn noun(self) -> &'static str {
        match self {
            Self::Image => "an image",
            Self::Audio => "audio",
            Self::Video => "a video",
            Self::Pdf => "a PDF document",
        }
    }

    /// Returns the name of the Rust type for this kind, and a media type as an example.
    fn type_name_and_example(self) -> (&'static str, &'static str) {
        match self {
            Self::Image => ("ImageContent", "image/…"),
            Self::Audio => ("AudioContent", "audio/…"),
            Self::Video => ("VideoContent", "video/…"),
            Self::Pdf => ("PdfContent", "application/pdf"),
        }
    }
}

/// Returns the media type of bytes that must be of this kind.
///
/// # Errors
///
/// Fails if the bytes are of another or an unknown kind.
pub(super) fn expect(kind: Kind, bytes: &[u8]) -> Result<&'static str, Error> {
    let (name, example) = kind.type_name_and_example();
    match detect(bytes) {
        Some((found, media_type)) if found == kind => Ok(media_type),
        Some((_, media_type)) => Err(Error::new(
            ErrorKind::Media,
            format!(
                "expected {}, found `{media_type}`; if that is wrong, name the type: `{name}::new(Media::bytes(bytes, \"{example}\")?)`",
                kind.noun()
            ),
        )),
        None => Err(unknown(name, bytes)),
    }
}

/// Creates the error for bytes of an unknown type. Shows the first 8 bytes: enough to recognise a
/// web page that was saved by mistake, and too few to reveal the content.
pub(super) fn unknown(name: &str, bytes: &[u8]) -> Error {
    let name = if name == "media" { "ImageContent" } else { name };
    let found = match bytes {
        [] => "the data is empty".to_owned(),
        bytes => {
            let start = bytes.get(..8).unwrap_or(bytes);
            format!("the bytes begin with `{}`, which is not a known type", start.escape_ascii())
        }
    };
    Error::new(
        ErrorKind::Media,
        format!("{found}; name the type: `{name}::new(Media::bytes(bytes, \"…/…\")?)`"),
    )
}

/// Returns the kind and media type of bytes with a known signature.
pub(super) fn detect(bytes: &[u8]) -> Option<(Kind, &'static str)> {
    let found = |kind, media_type| Some((kind, media_type));
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1A, b'\n', ..] => found(Kind::Image, "image/png"),
        [0xFF, 0xD8, 0xFF, ..] => found(Kind::Image, "image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => found(Kind::Image, "image/gif"),
        // A file size, then two reserved words.
        [b'B', b'M', _, _, _, _, 0, 0, 0, 0, ..] => found(Kind::Image, "image/bmp"),
        [b'I', b'I', b'*' | b'+', 0, ..] | [b'M', b'M', 0, b'*' | b'+', ..] => {
            found(Kind::Image, "image/tiff")
        }
        [b'R', b'I', b'F', b'F', _, _, _, _, form @ ..] => match form {
            [b'W', b'E', b'B', b'P', ..] => found(Kind::Image, "image/webp"),
            [b'W', b'A', b'V', b'E', ..] => found(Kind::Audio, "audio/wav"),
            [b'A', b'V', b'I', b' ', ..] => found(Kind::Video, "video/x-msvideo"),
            _ => None,
        },
        [b'f', b'L', b'a', b'C', ..] => found(Kind::Audio, "audio/flac"),
        [b'O', b'g', b'g', b'S', ..] => Some(ogg(bytes)),
        [b'I', b'D', b'3', 2..=4, ..] => found(Kind::Audio, "audio/mpeg"),
        [0xFF, second, third, ..] if second & 0xE0 == 0xE0 => mpeg_audio_frame(*second, *third),
        [_, _, _, _, b'f', b't', b'y', b'p', brand @ ..] => iso_media(brand),
        // QuickTime files from before the introduction of `ftyp`.
        [_, _, _, _, b'm', b'o', b'o', b'v', ..] | [_, _, _, _, b'w', b'i', b'd', b'e', ..] => {
            found(Kind::Video, "video/quicktime")
        }
        [0x1A, 0x45, 0xDF, 0xA3, ..] => matroska(bytes),
        [b'%', b'P', b'D', b'F', b'-', ..] => found(Kind::Pdf, "application/pdf"),
        [0xEF, 0xBB, 0xBF, b'%', b'P', b'D', b'F', b'-', ..] => found(Kind::Pdf, "application/pdf"),
        _ => None,
    }
}

/// Detects a frame of MPEG audio: layer 3, or ADTS, whose layer bits are zero.
fn mpeg_audio_frame(second: u8, third: u8) -> Option<(Kind, &'static str)> {
    let is_valid = third & 0xF0 != 0xF0 && third & 0x0C != 0x0C;
    match (second >> 1) & 0b11 {
        0b01 if is_valid => Some((Kind::Audio, "audio/mpeg")),
        0b00 if second & 0xF0 == 0xF0 && (third >> 2) & 0x0F < 13 => {
            Some((Kind::Audio, "audio/aac"))
        }
        _ => None,
    }
}

/// Detects the codec of an Ogg file. The first page names it after 28 bytes.
fn ogg(bytes: &[u8]) -> (Kind, &'static str) {
    match bytes.get(28..).unwrap_or_default() {
        [0x80, b't', b'h', b'e', b'o', b'r', b'a', ..] => (Kind::Video, "video/ogg"),
        _ => (Kind::Audio, "audio/ogg"),
    }
}

/// Detects the type of an MP4 container by its brands: the main brand, its version, then the
/// compatible brands.
fn iso_media(brands: &[u8]) -> Option<(Kind, &'static str)> {
    let main = brands.first_chunk::<4>()?;
    Some(match main {
        b"avif" | b"avis" => (Kind::Image, "image/avif"),
        b"heic" | b"heix" | b"heim" | b"heis" | b"hevc" | b"hevx" => (Kind::Image, "image/heic"),
        b"mif1" | b"msf1" => {
            let others = brands.get(8..40).or_else(|| brands.get(8..)).unwrap_or_default();
            let is_avif = others.as_chunks::<4>().0.contains(b"avif");
            (Kind::Image, if is_avif { "image/avif" } else { "image/heif" })
        }
        b"M4A " | b"M4B " | b"M4P " => (Kind::Audio, "audio/mp4"),
        b"qt  " => (Kind::Video, "video/quicktime"),
        [b'3', b'g', b'p' | b'g', _] => (Kind::Video, "video/3gpp"),
        _ => (Kind::Video, "video/mp4"),
    })
}

/// Detects the dialect of Matroska, which the header names near its beginning.
fn matroska(bytes: &[u8]) -> Option<(Kind, &'static str)> {
    let header = bytes.get(..64).unwrap_or(bytes);
    let contains = |word: &[u8]| header.windows(word.len()).any(|window| window == word);
    if contains(b"webm") {
        return Some((Kind::Video, "video/webm"));
    }
    contains(b"matroska").then_some((Kind::Video, "video/x-matroska"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind_of(bytes: &[u8]) -> Option<&'static str> {
        detect(bytes).map(|(_, media_type)| media_type)
    }

    #[test]
    fn types_are_detected_from_the_first_bytes() {
        let table: &[(&[u8], &str)] = &[
            (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "image/png"),
            (b"\xFF\xD8\xFF\xE0\0\x10JFIF", "image/jpeg"),
            (b"GIF89a\x01\0", "image/gif"),
            (b"GIF87a\x01\0", "image/gif"),
            (b"RIFF\x24\0\0\0WEBPVP8 ", "image/webp"),
            (b"BM\x3a\0\0\0\0\0\0\0\x36\0\0\0", "image/bmp"),
            (b"II*\0\x08\0\0\0", "image/tiff"),
            (b"MM\0*\0\0\0\x08", "image/tiff"),
            (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", "image/heic"),
            (b"\0\0\0\x18ftypmif1\0\0\0\0mif1heic", "image/heif"),
            (b"\0\0\0\x1cftypmif1\0\0\0\0mif1avifmiaf", "image/avif"),
            (b"\0\0\0\x1cftypavif\0\0\0\0avifmif1miaf", "image/avif"),
            (b"RIFF\x24\0\0\0WAVEfmt ", "audio/wav"),
            (b"ID3\x04\0\0\0\0\0\0", "audio/mpeg"),
            (b"\xFF\xFB\x90\x64", "audio/mpeg"),
            (b"\xFF\xF3\x48\xC4", "audio/mpeg"),
            (b"OggS\0\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\x13OpusHead", "audio/ogg"),
            (b"OggS\0\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\x2a\x80theora", "video/ogg"),
            (b"fLaC\0\0\0\x22", "audio/flac"),
            (b"\xFF\xF1\x50\x80", "audio/aac"),
            (b"\0\0\0\x20ftypM4A \0\0\0\0", "audio/mp4"),
            (b"\0\0\0\x20ftypisom\0\0\x02\0isomiso2avc1mp41", "video/mp4"),
            (b"\0\0\0\x1cftypmp42\0\0\0\0", "video/mp4"),
            (b"\0\0\0\x14ftypqt  \x20\x05\x03\0", "video/quicktime"),
            (b"\0\0\x0f\xffmoov\0\0\0\x6cmvhd", "video/quicktime"),
            (b"\0\0\0\x18ftyp3gp5\0\0\0\0", "video/3gpp"),
            (b"\x1A\x45\xDF\xA3\x9F\x42\x86\x81\x01\x42\x82\x84webm", "video/webm"),
            (b"\x1A\x45\xDF\xA3\xA3\x42\x86\x81\x01\x42\x82\x88matroska", "video/x-matroska"),
            (b"RIFF\x24\0\0\0AVI LIST", "video/x-msvideo"),
            (b"%PDF-1.7\n%\xE2\xE3", "application/pdf"),
            (b"\xEF\xBB\xBF%PDF-1.4", "application/pdf"),
        ];
        for (bytes, media_type) in table {
            assert_eq!(kind_of(bytes), Some(*media_type), "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn text_and_truncated_files_have_no_known_type() {
        let table: &[&[u8]] = &[
            b"",
            b"\x89PNG",
            b"<!DOCTYPE html>",
            b"<svg xmlns=",
            b"{\"a\":1}",
            b"BM is not a bitmap",
            b"RIFF\x24\0\0\0CDXA",
            b"ID3 is a word",
            // UTF-16 texts.
            b"\xFF\xFEH\0i\0",
            b"\xFE\xFF\0H\0i",
            b"\xFF\xFF\xFF\xFF",
            b"\x1A\x45\xDF\xA3\x9F",
            b"\0\0\0\x18ftyp",
            b"PK\x03\x04",
        ];
        for bytes in table {
            assert_eq!(detect(bytes), None, "{}", bytes.escape_ascii());
        }
    }
}
