//! E-mail addresses.

use super::scan::at;
use crate::steps;
use std::ops::Range;

/// A group of scripts. Words in an address do not mix them, so that a word that is attached to the address
/// without a blank is not treated as part of it.
#[derive(Clone, Copy, PartialEq)]
enum Script {
    /// Latin, Greek, Cyrillic and Armenian.
    Western,
    /// Hebrew, Arabic, and the scripts of India.
    Eastern,
    /// Scripts that are written without blanks, and Korean, whose particles follow a word without a blank.
    Joined,
}

/// Returns the script of a letter. Returns `None` for ASCII digits and for other characters.
fn script(c: char) -> Option<Script> {
    match c {
        '\0'..='\u{7f}' => c.is_ascii_alphabetic().then_some(Script::Western),
        c if !c.is_alphanumeric() => None,
        '\u{80}'..'\u{590}' => Some(Script::Western),
        '\u{590}'..'\u{e00}' => Some(Script::Eastern),
        _ => Some(Script::Joined),
    }
}

/// Returns `true` if a character may be in the local part of an address, after a character of this script.
fn is_local(c: char, script_after: &mut Option<Script>) -> bool {
    match script(c) {
        None => c.is_ascii_digit() || matches!(c, '.' | '_' | '%' | '+' | '-' | '\''),
        Some(Script::Joined) => false,
        Some(script) => *script_after.get_or_insert(script) == script,
    }
}

/// Finds `local@domain`.
pub(super) fn emails(text: &str, found: &mut Vec<Range<usize>>) {
    let mut from = 0;
    while let Some(sign) = text.get(from..).and_then(|rest| rest.find('@')) {
        steps::add(sign);
        let sign = from + sign;
        // Start after the previous address, so that addresses do not overlap.
        let before = text.get(from..sign).unwrap_or_default();
        let after = text.get(sign + 1..).unwrap_or_default();
        let (local, domain) = (local(before), domain(after));
        from = sign + 1;
        if local > 0 && domain > 0 {
            found.push(sign - local..from + domain);
            from += domain;
        }
    }
}

/// Returns the length of the local part at the end of a text.
fn local(text: &str) -> usize {
    let mut script = None;
    let start = text.char_indices().rev().take_while(|(_, c)| is_local(*c, &mut script)).last();
    let Some(run) = start.and_then(|(start, _)| text.get(start..)) else { return 0 };
    steps::add(run.len());
    run.trim_start_matches(['.', '\'', '-', '%', '+']).len()
}

/// Returns the length of the domain at the start of a text: labels, the last of which is a word.
fn domain(text: &str) -> usize {
    let is_in_label = |c: char| c.is_ascii_digit() || c == '-' || script(c).is_some();
    let run = text.find(|c| !is_in_label(c) && c != '.').unwrap_or(text.len());
    let run = text.get(..run).unwrap_or_default();
    steps::add(run.len());
    let (mut end, mut length) = (0, 0);
    for (index, label) in run.split('.').enumerate() {
        let label = label.trim_end_matches('-');
        let is_valid = !label.is_empty() && !label.starts_with('-');
        if !is_valid {
            break;
        }
        if index > 0 {
            length = top_level(label).map_or(length, |top| end + top);
        }
        end += label.len() + 1;
        // A trimmed label is the last one.
        if at(run.as_bytes(), end - 1) != b'.' {
            break;
        }
    }
    length
}

/// Returns the length of the part of a label that can be a top-level domain: the whole label, or the letters
/// of one script before a hyphen or a letter of another script.
fn top_level(label: &str) -> Option<usize> {
    if label.starts_with("xn--") {
        return Some(label.len());
    }
    let first = script(label.chars().next()?)?;
    let end = label.find(|c| script(c) != Some(first)).unwrap_or(label.len());
    let (word, rest) = label.split_at_checked(end)?;
    let is_complete = !rest.starts_with(|c: char| c.is_ascii_digit());
    (is_complete && word.chars().nth(1).is_some()).then_some(end)
}

#[cfg(test)]
mod tests {
    use super::super::tests::all;
    use super::*;

    #[test]
    fn addresses_are_found() {
        for (text, address) in [
            ("Write to ann@example.org.", "ann@example.org"),
            ("<Ann.B+x_y%z-1@Mail.Example.CO.UK>", "Ann.B+x_y%z-1@Mail.Example.CO.UK"),
            ("mailto:o'brien@x.ie?subject=a", "o'brien@x.ie"),
            ("'a@b.de'", "a@b.de"),
            ("联系zhang@example.com谢谢", "zhang@example.com"),
            ("jürgen.müller@bücher.example", "jürgen.müller@bücher.example"),
            ("zhang@例子.中国", "zhang@例子.中国"),
            ("联系zhang@例子.com谢谢", "zhang@例子.com"),
            ("메일은ann@예시123.한국.", "ann@예시123.한국"),
            ("ann@ABC株式会社.jp", "ann@ABC株式会社.jp"),
            ("אנה@דוגמה.ישראל", "אנה@דוגמה.ישראל"),
            ("иван@почта.рф", "иван@почта.рф"),
            ("ann@example.org로 메일", "ann@example.org"),
            ("ann@example.orgو", "ann@example.org"),
            ("לann@example.org", "ann@example.org"),
            ("a@b.com.1", "a@b.com"),
            ("x@y.xn--p1ai", "x@y.xn--p1ai"),
            ("...a@b-c.de---", "a@b-c.de"),
            ("a@b@c.de", "b@c.de"),
            ("@ann.bee@example.org", "ann.bee@example.org"),
            ("cc:@john.doe@example.com", "john.doe@example.com"),
            ("ann@example.org-2026", "ann@example.org"),
            ("ann@b.co-op.example", "ann@b.co-op.example"),
        ] {
            assert_eq!(all(emails, text), [address], "{text}");
        }
    }

    #[test]
    fn other_at_signs_are_ignored() {
        for text in [
            "@ann",
            "问@小明你好",
            "a@小明",
            "a@b",
            "a@b.c",
            "a@.de",
            "a@-b.de",
            "a@1.2",
            "@@",
            "a @ b.de",
            "a@b..de",
        ] {
            assert!(all(emails, text).is_empty(), "{text}");
        }
    }
}
