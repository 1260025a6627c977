//! E-mail addresses.

use super::scan::at;
use crate::steps;
use std::ops::Range;

/// Returns `true` if a character may be a letter of an address. Scripts that are written without blanks are
/// excluded: otherwise the word before an address would be treated as part of it.
fn is_letter(c: char) -> bool {
    c.is_ascii_alphanumeric() || (c < '\u{590}' && c.is_alphanumeric())
}

/// Returns `true` if a character may be in the local part of an address.
fn is_local(c: char) -> bool {
    is_letter(c) || matches!(c, '.' | '_' | '%' | '+' | '-' | '\'')
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
    let start = text.char_indices().rev().take_while(|(_, c)| is_local(*c)).last();
    let Some(run) = start.and_then(|(start, _)| text.get(start..)) else { return 0 };
    steps::add(run.len());
    run.trim_start_matches(['.', '\'', '-', '%', '+']).len()
}

/// Returns the length of the domain at the start of a text: labels, the last of which is a word.
fn domain(text: &str) -> usize {
    let run = text.find(|c| !is_letter(c) && c != '.' && c != '-').unwrap_or(text.len());
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

/// Returns the length of the part of a label that can be a top-level domain: the whole label, or the part
/// before a hyphen.
fn top_level(label: &str) -> Option<usize> {
    let is_word =
        |label: &str| label.chars().nth(1).is_some() && label.chars().all(char::is_alphabetic);
    if is_word(label) || label.starts_with("xn--") {
        return Some(label.len());
    }
    let (word, _) = label.split_once('-')?;
    is_word(word).then_some(word.len())
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
        for text in
            ["@ann", "a@b", "a@b.c", "a@.de", "a@-b.de", "a@1.2", "@@", "a @ b.de", "a@b..de"]
        {
            assert!(all(emails, text).is_empty(), "{text}");
        }
    }
}
