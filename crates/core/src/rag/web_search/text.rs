//! Cleaning of untrusted texts and addresses from the web.

use crate::rag::tool_output::prefix;

/// Size limit of an address, in bytes.
const MAX_URL: usize = 8 << 10;

/// Trims the text, replaces control characters, and truncates it to `max` bytes.
pub(super) fn clean(text: &str, max: usize) -> Box<str> {
    let keep = |character: char| match character {
        '\n' | '\t' => character,
        // Line separators of Unicode, which most programs do not recognize.
        '\u{2028}' | '\u{2029}' => '\n',
        character if character.is_control() => ' ',
        character => character,
    };
    truncate_with(text.trim(), max, |start| start.chars().map(keep).collect())
}

/// Puts the text on one line and truncates it to `max` bytes.
pub(super) fn line(text: &str, max: usize) -> Box<str> {
    let is_blank = |character: char| character.is_whitespace() || character.is_control();
    truncate_with(text.trim(), max, |start| {
        let words = start.split(is_blank).filter(|word| !word.is_empty());
        words.collect::<Vec<_>>().join(" ")
    })
}

/// Truncates a text to `max` bytes, applies `make`, and appends `…` if text was cut.
fn truncate_with(text: &str, max: usize, make: impl FnOnce(&str) -> String) -> Box<str> {
    let start = prefix(text, max);
    let mut made = make(start);
    made.truncate(made.trim_end().len());
    if start.len() < text.len() {
        made.push('…');
    }
    let blank = made.len() - made.trim_start().len();
    made.drain(..blank);
    made.into()
}

/// Returns whether an address is safe to show and to follow: absolute, by `http` or `https`, without blanks,
/// control characters, quotes or angle brackets, and without a user name, which could disguise the real host.
pub(super) fn is_web_address(url: &str) -> bool {
    let Some(rest) = without_scheme(url) else { return false };
    let is_odd = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '"' | '<' | '>');
    let host = host(rest);
    url.len() <= MAX_URL
        && !url.contains(is_odd)
        && host.starts_with(|first: char| first.is_alphanumeric() || first == '[')
        && !host.contains(['@', '\\'])
}

/// Returns a key that is equal for all addresses of a page.
pub(super) fn page_key(url: &str) -> String {
    let rest = without_scheme(url).unwrap_or(url);
    let rest = rest.split('#').next().unwrap_or(rest).trim_end_matches('/');
    let host = host(rest);
    let path = rest.get(host.len()..).unwrap_or_default();
    format!("{}{path}", host.to_ascii_lowercase())
}

fn without_scheme(url: &str) -> Option<&str> {
    ["https://", "http://"].iter().find_map(|scheme| {
        let start = url.get(..scheme.len())?;
        if start.eq_ignore_ascii_case(scheme) { url.get(scheme.len()..) } else { None }
    })
}

/// Returns the host and port of an address without its scheme.
fn host(rest: &str) -> &str {
    rest.split(['/', '?', '#']).next().unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_web_addresses_are_accepted() {
        for url in [
            "https://example.org",
            "HTTP://EXAMPLE.org:8080/a?b=c@d#e",
            "https://münchen.example/straße",
            "https://[::1]/",
            "https://example.org/a|b\\c'd",
        ] {
            assert!(is_web_address(url), "{url}");
        }
        let long = format!("https://example.org/{}", "x".repeat(MAX_URL));
        for url in [
            "",
            "example.org",
            "//example.org",
            "/path",
            "http:/example.org",
            "http://",
            "https:///path",
            "https://?q",
            "https://.",
            "javascript:alert('https://example.org')",
            "data:text/html,https://example.org",
            "file:///etc/passwd",
            "ftp://example.org",
            " https://example.org",
            "https://example.org/a b",
            "https://example.org/\n2. [x](y)",
            "https://example.org/\u{1b}[2J",
            "https://example.org/<script>",
            "https://bank.example@evil.example/",
            "https://bank.example\\@evil.example/",
            "https://bank.example\\.evil.example/",
            "é",
            &long,
        ] {
            assert!(!is_web_address(url), "{url}");
        }
    }

    #[test]
    fn text_is_truncated_between_characters() {
        assert_eq!(&*clean("  a\u{0}b\r\nc\u{2028}d\te ", 100), "a b \nc\nd\te");
        assert_eq!(&*clean("ééé", 6), "ééé");
        assert_eq!(&*clean("ééé", 5), "éé…");
        assert_eq!(&*clean("ab cd", 3), "ab…");
        assert_eq!(&*clean("é", 0), "…");
        assert_eq!(&*clean("\u{1b}", 9), "");
        assert_eq!(&*line(" a\r\n 1.\u{0}b ", 100), "a 1. b");
    }
}
