//! Decoding of text files.

use super::{LoadError, LoadErrorKind};

/// Decodes UTF-8, with or without a byte-order mark, or UTF-16 with a byte-order mark.
pub(super) fn decode(name: &str, bytes: Vec<u8>) -> Result<String, LoadError> {
    match bytes.as_slice() {
        [0xEF, 0xBB, 0xBF, rest @ ..] => utf8(name, rest.to_vec(), 3),
        [0xFF, 0xFE, rest @ ..] => utf16(name, rest, u16::from_le_bytes),
        [0xFE, 0xFF, rest @ ..] => utf16(name, rest, u16::from_be_bytes),
        _ => utf8(name, bytes, 0),
    }
}

/// Decodes UTF-8. `skipped` is the number of bytes before `bytes`.
fn utf8(name: &str, bytes: Vec<u8>, skipped: usize) -> Result<String, LoadError> {
    // A NUL means UTF-16 or UTF-32 without a byte-order mark, or a binary file.
    if let Some(at) = bytes.iter().position(|byte| *byte == 0) {
        let at = at + skipped;
        let reason =
            format!("is not a text file: NUL at byte {at}; UTF-16 needs a byte-order mark");
        return Err(LoadError::new(name, LoadErrorKind::Encoding, reason));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to() + skipped;
        let reason = format!("is not UTF-8: invalid sequence at byte {at}; convert it to UTF-8");
        LoadError::new(name, LoadErrorKind::Encoding, reason)
    })
}

fn utf16(name: &str, bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String, LoadError> {
    let fail = |at: usize, problem: &str| {
        let reason = format!("is not UTF-16: {problem} at byte {at}; convert it to UTF-8");
        LoadError::new(name, LoadErrorKind::Encoding, reason)
    };
    let pairs = bytes.chunks_exact(2);
    let odd = !pairs.remainder().is_empty();
    let units = pairs.filter_map(|pair| <[u8; 2]>::try_from(pair).ok()).map(unit);
    let mut text = String::with_capacity(bytes.len());
    // After the byte-order mark.
    let mut at = 2;
    for character in char::decode_utf16(units) {
        match character {
            Ok('\0') => return Err(fail(at, "NUL")),
            Ok(character) => {
                at += 2 * character.len_utf16();
                text.push(character);
            }
            Err(_) => return Err(fail(at, "unpaired surrogate")),
        }
    }
    if odd { Err(fail(at, "incomplete code unit")) } else { Ok(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8]) -> String {
        decode("x", bytes.to_vec()).unwrap_or_else(|error| error.to_string())
    }

    #[test]
    fn byte_order_mark_selects_the_encoding() {
        assert_eq!(text("grün".as_bytes()), "grün");
        assert_eq!(text(b"\xEF\xBB\xBFgr\xC3\xBCn"), "grün");
        assert_eq!(text(b"\xFF\xFEg\0r\0\xFC\0n\0"), "grün");
        assert_eq!(text(b"\xFE\xFF\0g\0r\0\xFC\0n\xD8\x3D\xDE\x00"), "grün😀");
        assert_eq!(text(b""), "");
        assert_eq!(text(b"\xFF\xFE"), "");
    }

    #[test]
    fn error_names_the_first_invalid_byte() {
        let cases: [(&[u8], &str); 6] = [
            (b"ab\xFFc", "invalid sequence at byte 2;"),
            (b"\xEF\xBB\xBFa\xFF", "invalid sequence at byte 4;"),
            (b"h\0i\0", "NUL at byte 1;"),
            (b"\xFF\xFEa\0b", "incomplete code unit at byte 4;"),
            (b"\xFE\xFF\0a\xD8\x3D\0b", "unpaired surrogate at byte 4;"),
            // UTF-32.
            (b"\xFF\xFE\0\0a\0\0\0", "NUL at byte 2;"),
        ];
        for (bytes, problem) in cases {
            assert!(text(bytes).contains(problem), "{}", text(bytes));
        }
    }
}
