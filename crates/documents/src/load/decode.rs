//! Bytes that should be text.

use super::{LoadError, LoadErrorKind};

/// The text of bytes in UTF-8, with a byte order mark or without, or in UTF-16 with one.
pub(super) fn decode(name: &str, bytes: Vec<u8>) -> Result<String, LoadError> {
    match bytes.as_slice() {
        [0xEF, 0xBB, 0xBF, rest @ ..] => utf8(name, rest.to_vec(), 3),
        [0xFF, 0xFE, rest @ ..] => utf16(name, rest, u16::from_le_bytes),
        [0xFE, 0xFF, rest @ ..] => utf16(name, rest, u16::from_be_bytes),
        _ => utf8(name, bytes, 0),
    }
}

/// `skipped` bytes came before.
fn utf8(name: &str, bytes: Vec<u8>, skipped: usize) -> Result<String, LoadError> {
    // No text has it, but UTF-16 and UTF-32 without a mark, and all that is no text at all.
    if let Some(at) = bytes.iter().position(|byte| *byte == 0) {
        let at = at + skipped;
        let reason = format!("is no text: byte {at} is zero; if it is UTF-16, give it a mark");
        return Err(LoadError::new(name, LoadErrorKind::Encoding, reason));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to() + skipped;
        let reason = format!("is not UTF-8: byte {at} begins no character; convert it to UTF-8");
        LoadError::new(name, LoadErrorKind::Encoding, reason)
    })
}

fn utf16(name: &str, bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String, LoadError> {
    let fail = |at: usize, what: &str| {
        let reason = format!("is not UTF-16: byte {at} {what}; convert it to UTF-8");
        LoadError::new(name, LoadErrorKind::Encoding, reason)
    };
    let pairs = bytes.chunks_exact(2);
    let odd = !pairs.remainder().is_empty();
    let units = pairs.filter_map(|pair| <[u8; 2]>::try_from(pair).ok()).map(unit);
    let mut text = String::with_capacity(bytes.len());
    // The mark came before.
    let mut at = 2;
    for character in char::decode_utf16(units) {
        match character {
            Ok('\0') => return Err(fail(at, "begins a zero")),
            Ok(character) => {
                at += 2 * character.len_utf16();
                text.push(character);
            }
            Err(_) => return Err(fail(at, "begins half a character")),
        }
    }
    if odd { Err(fail(at, "is half a unit")) } else { Ok(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8]) -> String {
        decode("x", bytes.to_vec()).unwrap_or_else(|error| error.to_string())
    }

    #[test]
    fn marks_say_the_encoding() {
        assert_eq!(text("grün".as_bytes()), "grün");
        assert_eq!(text(b"\xEF\xBB\xBFgr\xC3\xBCn"), "grün");
        assert_eq!(text(b"\xFF\xFEg\0r\0\xFC\0n\0"), "grün");
        assert_eq!(text(b"\xFE\xFF\0g\0r\0\xFC\0n\xD8\x3D\xDE\x00"), "grün😀");
        assert_eq!(text(b""), "");
        assert_eq!(text(b"\xFF\xFE"), "");
    }

    #[test]
    fn what_is_no_text_is_named_by_its_byte() {
        let cases: [(&[u8], &str); 6] = [
            (b"ab\xFFc", "byte 2 begins no character"),
            (b"\xEF\xBB\xBFa\xFF", "byte 4 begins no character"),
            (b"h\0i\0", "byte 1 is zero"),
            (b"\xFF\xFEa\0b", "byte 4 is half a unit"),
            (b"\xFE\xFF\0a\xD8\x3D\0b", "byte 4 begins half a character"),
            // UTF-32.
            (b"\xFF\xFE\0\0a\0\0\0", "byte 2 begins a zero"),
        ];
        for (bytes, problem) in cases {
            assert!(text(bytes).contains(problem), "{}", text(bytes));
        }
    }
}
