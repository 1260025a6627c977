//! Strings of JSON, and their escapes.

use super::Text;
use super::parse::Fault;
use std::borrow::Cow;

/// Reads the string whose opening quote stands at `start`; tells where it ends.
///
/// If it may be unfinished, it goes as far as whole characters have arrived.
pub(super) fn read(text: &str, start: usize, is_partial: bool) -> Result<(Text<'_>, usize), Fault> {
    let mut at = start + 1;
    let mut run = at;
    let mut unescaped: Option<String> = None;
    let part = |from: usize, to: usize| text.get(from..to).ok_or(Fault::Unexpected(from));
    loop {
        let (byte, escape) = match text.as_bytes().get(at) {
            Some(b'\\') => (Some(b'\\'), escape(text, at)),
            byte => (byte.copied(), Ok(None)),
        };
        // Half an escape is shown when the rest of it has come.
        let ends = byte.is_none() || escape == Err(Fault::Ends);
        if ends && !is_partial {
            return Err(Fault::Ends);
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
            None if byte.is_some_and(|byte| byte < b' ') => return Err(Fault::Unexpected(at)),
            None => at += 1,
        }
    }
}

/// The character that the escape at `at` stands for, and the length of the escape.
fn escape(text: &str, at: usize) -> Result<Option<(char, usize)>, Fault> {
    let character = match text.as_bytes().get(at + 1) {
        None => return Err(Fault::Ends),
        Some(b'"') => '"',
        Some(b'\\') => '\\',
        Some(b'/') => '/',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => return unicode(text, at).map(Some),
        Some(_) => return Err(Fault::Unexpected(at)),
    };
    Ok(Some((character, 2)))
}

/// A `\uXXXX`, or two of them that are one character.
fn unicode(text: &str, at: usize) -> Result<(char, usize), Fault> {
    let first = unit(text, at)?;
    if let Some(character) = char::from_u32(first) {
        return Ok((character, 6));
    }
    // Half of a pair: only a second half makes it a character.
    let second = unit(text, at + 6)?;
    let pair = (0xD800..0xDC00).contains(&first) && (0xDC00..0xE000).contains(&second);
    let code = 0x10000 + ((first & 0x3FF) << 10) + (second & 0x3FF);
    match char::from_u32(code).filter(|_| pair) {
        Some(character) => Ok((character, 12)),
        None => Err(Fault::Unexpected(at)),
    }
}

/// The number in a `\uXXXX`.
fn unit(text: &str, at: usize) -> Result<u32, Fault> {
    let bytes = text.as_bytes();
    for (offset, expected) in [b'\\', b'u'].into_iter().enumerate() {
        match bytes.get(at + offset) {
            None => return Err(Fault::Ends),
            Some(byte) if *byte == expected => {}
            Some(_) => return Err(Fault::Unexpected(at)),
        }
    }
    let mut code = 0;
    for offset in 2..6 {
        let byte = bytes.get(at + offset).ok_or(Fault::Ends)?;
        let digit = char::from(*byte).to_digit(16).ok_or(Fault::Unexpected(at))?;
        code = code * 16 + digit;
    }
    Ok(code)
}
