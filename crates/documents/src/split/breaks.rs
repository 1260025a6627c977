//! Positions at which a text may be cut.

/// The unit of text that ends at a position, from the largest to the smallest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Break {
    Paragraph,
    Line,
    Sentence,
    /// A line of a block that should stay whole.
    Row,
    Word,
}

/// Calls `found` with each position from `from` to `to` (inclusive) at which the text may be cut, in
/// order: at the start of white space, and after a full-width full stop.
pub(super) fn breaks(text: &str, from: usize, to: usize, mut found: impl FnMut(usize, Break)) {
    let mut last = None;
    let mut rest = text.get(from..).unwrap_or_default().char_indices().peekable();
    while let Some((offset, c)) = rest.next() {
        let at = from + offset;
        if at > to {
            return;
        }
        if !is_space(c) {
            last = Some(c);
            let end = at + c.len_utf8();
            let ends_here =
                is_wide_stop(c) && rest.peek().is_some_and(|(_, next)| !is_closing(*next));
            if ends_here && end <= to {
                found(end, Break::Sentence);
            }
            continue;
        }
        let mut newlines = lines(c);
        while let Some((_, space)) = rest.next_if(|(_, next)| is_space(*next)) {
            newlines += lines(space);
        }
        if last.is_some() {
            let next = rest.peek().map(|(_, next)| *next);
            let before = text.get(from..at).unwrap_or_default();
            found(at, kind(newlines, before, next));
        }
    }
}

fn kind(newlines: usize, before: &str, next: Option<char>) -> Break {
    match newlines {
        0 if ends_sentence(before, next) => Break::Sentence,
        0 => Break::Word,
        1 => Break::Line,
        _ => Break::Paragraph,
    }
}

/// Returns the number of line breaks that a character stands for; a page break ends a paragraph.
fn lines(c: char) -> usize {
    match c {
        '\n' | '\u{2028}' => 1,
        '\u{2029}' | '\u{c}' => 2,
        _ => 0,
    }
}

/// Returns whether a character is white space at which a text may be cut.
fn is_space(c: char) -> bool {
    c.is_whitespace() && !matches!(c, '\u{a0}' | '\u{202f}' | '\u{2007}')
}

fn is_wide_stop(c: char) -> bool {
    matches!(c, '。' | '！' | '？' | '｡')
}

fn is_closing(c: char) -> bool {
    matches!(c, '"' | '\'' | ')' | ']' | '}' | '»' | '”' | '’' | '」' | '』' | '）')
}

/// Returns whether a sentence ends before white space. A single letter, or an abbreviation before a
/// lower-case letter, does not end a sentence.
fn ends_sentence(before: &str, next: Option<char>) -> bool {
    let bare = before.trim_end_matches(is_closing);
    let mut back = bare.chars().rev();
    match back.next() {
        Some('!' | '?' | '…') => true,
        Some(stop) if is_wide_stop(stop) => true,
        Some('.') => {
            let letter = back.next().is_some_and(char::is_alphabetic);
            let alone = back.next().is_none_or(|c| c == '.' || c.is_whitespace());
            !((letter && alone) || next.is_some_and(char::is_lowercase))
        }
        _ => false,
    }
}

/// Returns whether two characters are displayed as one, so that the text should not be cut between them.
pub(super) fn joins(before: char, after: char) -> bool {
    const JOINER: char = '\u{200d}';
    let is_flag = |c| matches!(c, '\u{1f1e6}'..='\u{1f1ff}');
    (before == '\r' && after == '\n')
        || before == JOINER
        || is_mark(after)
        || (is_flag(before) && is_flag(after))
}

/// Returns whether a character modifies the character before it. Covers the common blocks of Unicode, not all
/// of them: for the others, a cut looks odd but is not wrong.
fn is_mark(c: char) -> bool {
    let code = u32::from(c);
    match code {
        0x300..=0x36F | 0x483..=0x489 | 0x591..=0x5BD | 0x610..=0x61A | 0x64B..=0x65F | 0x670 => {
            true
        }
        0x6D6..=0x6DC | 0x1AB0..=0x1AFF | 0x1DC0..=0x1DFF | 0x200C..=0x200D | 0x20D0..=0x20FF => {
            true
        }
        // Thai.
        0xE31 | 0xE34..=0xE3A | 0xE47..=0xE4E | 0x302A..=0x302F | 0x3099..=0x309A => true,
        // Variation selectors, half marks, skin tones, tags.
        0xFE00..=0xFE0F | 0xFE20..=0xFE2F | 0x1F3FB..=0x1F3FF | 0xE0020..=0xE007F => true,
        0xE0100..=0xE01EF => true,
        // The Indic scripts have the same layout, 128 code points each.
        0x900..=0xD7F => {
            matches!(code & 0x7F, 0..=3 | 0x3A..=0x3C | 0x3E..=0x4F | 0x51..=0x57 | 0x62..=0x63)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(&str, Break)> {
        let mut all = Vec::new();
        let mut begin = 0;
        breaks(text, 0, text.len(), |at, level| {
            all.push((text[begin..at].trim_start(), level));
            begin = at;
        });
        all
    }

    #[test]
    fn breaks_have_levels() {
        use Break::{Line, Paragraph, Sentence, Word};
        assert_eq!(
            found("  One two. Three\r\nfour! \n \nFive?) Six"),
            [
                ("One", Word),
                ("two.", Sentence),
                ("Three", Line),
                ("four!", Paragraph),
                ("Five?)", Sentence)
            ]
        );
        assert_eq!(found("春。夏！」秋 冬"), [("春。", Sentence), ("夏！」秋", Word)]);
        assert_eq!(found("a\u{a0}b\u{c}c"), [("a\u{a0}b", Paragraph)]);
    }

    #[test]
    fn abbreviations_do_not_end_a_sentence() {
        let words = |text| found(text).iter().filter(|(_, level)| *level == Break::Word).count();
        assert_eq!(words("J. Smith"), 1);
        assert_eq!(words("z. B. Äpfel"), 2);
        assert_eq!(words("approx. five"), 1);
        assert_eq!(words("It was five. Then six"), 3);
    }

    #[test]
    fn breaks_stay_within_their_bounds() {
        let mut all = Vec::new();
        breaks("a b c d", 2, 5, |at, _| all.push(at));
        assert_eq!(all, [3, 5]);
    }

    #[test]
    fn combined_characters_are_joined() {
        for pair in ["\r\n", "e\u{301}", "क\u{94d}", "👍🏽", "🇩🇪", "ก\u{e31}"] {
            let mut chars = pair.chars();
            assert!(joins(chars.next().unwrap(), chars.next().unwrap()), "{pair:?}");
        }
        for pair in ["ab", "\n\r", "कख", "👍a", "🇩a"] {
            let mut chars = pair.chars();
            assert!(!joins(chars.next().unwrap(), chars.next().unwrap()), "{pair:?}");
        }
    }
}
