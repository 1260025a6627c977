//! Characters that look like others, or that have no appearance.

/// Returns `true` for format characters, combining accents, and variation selectors.
pub(crate) fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
        | '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{1ab0}'..='\u{1aff}'
        | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{fe20}'..='\u{fe2f}' | '\u{e0000}'..='\u{e001f}' | '\u{e007f}'
        | '\u{e0100}'..='\u{e01ef}')
}

/// Returns the ASCII character of a tag, which is invisible but readable for models.
pub(crate) fn tag(c: char) -> Option<char> {
    match u32::from(c) {
        code @ 0xE0020..=0xE007E => char::from_u32(code - 0xE0000),
        _ => None,
    }
}

/// Returns the ASCII character of a styled form: wide, mathematical, circled.
pub(crate) fn styled(c: char) -> Option<char> {
    let code = u32::from(c);
    let small = |from: u32| char::from_u32(u32::from(b'a') + (code - from) % 26);
    let both = |from: u32| match (code - from) % 52 {
        capital @ 0..=25 => char::from_u32(u32::from(b'A') + capital),
        _ => small(from),
    };
    match code {
        0xFF01..=0xFF5E => char::from_u32(code - 0xFEE0),
        0x1D400..=0x1D6A3 => both(0x1D400),
        0x1D7CE..=0x1D7FF => char::from_u32(u32::from(b'0') + (code - 0x1D7CE) % 10),
        0x249C..=0x24B5 => small(0x249C),
        0x24B6..=0x24E9 => both(0x24B6),
        _ => None,
    }
}
