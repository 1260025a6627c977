//! JSON strings and their escapes.

use super::super::steps;
use super::Text;
use super::syntax_error::SyntaxError;
use std::borrow::Cow;

/// Parses the string whose opening quote is at `start`. Returns the string and its end.
///
/// An incomplete string contains all complete characters.
pub(super) fn read(
    text: &str,
    start: usize,
    is_partial: bool,
) -> Result<(Text<'_>, usize), SyntaxError> {
    let mut at = start + 1;
    let mut run = at;
    let mut unescaped: Option<String> = None;
    let part = |from: usize, to: usize| text.get(from..to).ok_or(SyntaxError::Unexpected(from));
    loop {
        // Most strings have no escapes: their bytes are passed over in a tight loop, 4 instructions each.
        let rest = text.as_bytes().get(at..).unwrap_or_default();
        let is_special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..b' ');
        let plain = rest.iter().position(is_special).unwrap_or(rest.len());
        steps::add(plain + 1);
        at += plain;
        let (byte, escape) = match text.as_bytes().get(at) {
            Some(b'\\') => (Some(b'\\'), escape(text, at)),
            byte => (byte.copied(), Ok(None)),
        };
        // An incomplete escape is withheld.
        let ends = byte.is_none() || escape == Err(SyntaxError::UnexpectedEnd);
        if ends && !is_partial {
            return Err(SyntaxError::UnexpectedEnd);
        }
        if ends || byte == Some(b'"') {
            let last = part(run, at)?;
            let end = if ends { text.len() } else { at + 1 };
            let unescaped = match unescaped {
                Some(unescaped) => Cow::Owned(unescaped + last),
                None => Cow::Borrowed(last),
            };
            return Ok((Text { text: unescaped, is_closed: !ends }, end));
        }
        match escape? {
            Some((character, length)) => {
                let unescaped = unescaped.get_or_insert_default();
                unescaped.push_str(part(run, at)?);
                unescaped.push(character);
                at += length;
                run = at;
            }
            None => return Err(SyntaxError::Unexpected(at)),
        }
    }
}

/// Returns the character of the escape at `at` and the length of the escape.
fn escape(text: &str, at: usize) -> Result<Option<(char, usize)>, SyntaxError> {
    let character = match text.as_bytes().get(at + 1) {
        None => return Err(SyntaxError::UnexpectedEnd),
        Some(b'"') => '"',
        Some(b'\\') => '\\',
        Some(b'/') => '/',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => return unicode(text, at).map(Some),
        Some(_) => return Err(SyntaxError::Unexpected(at)),
    };
    Ok(Some((character, 2)))
}

/// Returns the character of a `\uXXXX`, or of two for a surrogate pair.
fn unicode(text: &str, at: usize) -> Result<(char, usize), SyntaxError> {
    let first = code_unit(text, at)?;
    if let Some(character) = char::from_u32(first) {
        return Ok((character, 6));
    }
    // A high surrogate has to be followed by a low one.
    let second = code_unit(text, at + 6)?;
    let pair = (0xD800..0xDC00).contains(&first) && (0xDC00..0xE000).contains(&second);
    let code = 0x10000 + ((first & 0x3FF) << 10) + (second & 0x3FF);
    match char::from_u32(code).filter(|_| pair) {
        Some(character) => Ok((character, 12)),
        None => Err(SyntaxError::Unexpected(at)),
    }
}

/// Returns the code unit of a `\uXXXX`.
fn code_unit(text: &str, at: usize) -> Result<u32, SyntaxError> {
    let bytes = text.as_bytes();
    for (offset, expected) in [b'\\', b'u'].into_iter().enumerate() {
        match bytes.get(at + offset) {
            None => return Err(SyntaxError::UnexpectedEnd),
            Some(byte) if *byte == expected => {}
            Some(_) => return Err(SyntaxError::Unexpected(at)),
        }
    }
    let mut code = 0;
    for offset in 2..6 {
        let byte = bytes.get(at + offset).ok_or(SyntaxError::UnexpectedEnd)?;
        let digit = char::from(*byte).to_digit(16).ok_or(SyntaxError::Unexpected(at))?;
        code = code * 16 + digit;
    }
    Ok(code)
}
