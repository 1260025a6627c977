//! Making text harmless for a terminal.
//!
//! What a model, a tool or a memory says may contain control sequences that move the cursor, change
//! the title or fill the clipboard. Nothing is printed that has not been through here.

use std::error::Error;
use std::fmt::Write;

/// The text without terminal control sequences; of the control characters only newline and tab stay.
pub(crate) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(is_control) {
        let (harmless, control) = rest.split_at(at);
        out.push_str(harmless);
        rest = behind_control(control);
    }
    out.push_str(rest);
    out
}

/// The text on one line of at most `longest` characters.
pub(crate) fn one_line(text: &str, longest: usize) -> String {
    let mut line = plain(text).split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((end, _)) = line.char_indices().nth(longest) {
        line.truncate(end);
        line.push('…');
    }
    line
}

/// An error and what caused it, on one line.
pub(crate) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut last = error;
    // The library's errors say themselves what caused them.
    while let (false, Some(cause)) = (last.is::<ai_services::Error>(), last.source()) {
        let _ = write!(text, ": {cause}");
        last = cause;
    }
    one_line(&text, 500)
}

fn is_control(c: char) -> bool {
    c.is_control() && c != '\n' && c != '\t'
}

/// What follows the control character, and the sequence that it starts, at the front of `text`.
fn behind_control(text: &str) -> &str {
    let mut chars = text.chars();
    let kind = match chars.next() {
        Some('\u{1b}') => chars.clone().next(),
        // The same as ESC and a letter, in one character.
        Some('\u{9b}') => return behind_csi(chars.as_str()),
        Some('\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}') => return behind_string(chars.as_str()),
        _ => return chars.as_str(),
    };
    let rest = chars.as_str();
    match kind {
        Some('[') => behind_csi(after_first(rest)),
        Some('P' | 'X' | ']' | '^' | '_') => behind_string(after_first(rest)),
        // Intermediate characters, then a final one: character sets, for example.
        Some(' '..='/') => {
            let end = rest.trim_start_matches(|c| matches!(c, ' '..='/'));
            if end.starts_with(|c| matches!(c, '0'..='~')) { after_first(end) } else { end }
        }
        Some('0'..='~') => after_first(rest),
        _ => rest,
    }
}

/// Parameters, intermediate characters, and a final one.
fn behind_csi(text: &str) -> &str {
    let end = text.trim_start_matches(|c| matches!(c, ' '..='?'));
    if end.starts_with(|c| matches!(c, '@'..='~')) { after_first(end) } else { end }
}

/// A text up to its terminator. Without one only the introducer is taken, not the rest of an answer.
fn behind_string(text: &str) -> &str {
    let end = text.find(char::is_control).unwrap_or(text.len());
    let rest = text.get(end..).unwrap_or_default();
    let terminators = ["\u{7}", "\u{9c}", "\u{1b}\\"];
    terminators.iter().find_map(|terminator| rest.strip_prefix(terminator)).unwrap_or(text)
}

fn after_first(text: &str) -> &str {
    let mut chars = text.chars();
    chars.next();
    chars.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_sequences_are_removed() {
        for (text, expected) in [
            ("plain\ttext\nwith Ünïcode 🎉", "plain\ttext\nwith Ünïcode 🎉"),
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("\u{1b}[2J\u{1b}[1;1Hx", "x"),
            ("a\u{9b}31mb", "ab"),
            ("\u{1b}]0;title\u{7}x", "x"),
            ("\u{1b}]52;c;aGk=\u{1b}\\x", "x"),
            ("\u{9d}0;title\u{9c}x", "x"),
            ("\u{1b}Pq#0\u{1b}\\x", "x"),
            ("\u{1b}(0lqk\u{1b}(B", "lqk"),
            ("\u{1b}cx", "x"),
            ("a\rb\u{8}c\u{7f}d\0e\u{85}", "abcde"),
            ("\u{1b}", ""),
            ("\u{1b}[", ""),
            ("\u{1b}[12", ""),
        ] {
            assert_eq!(plain(text), expected, "{text:?}");
        }
    }

    #[test]
    fn unfinished_sequence_does_not_swallow_the_answer() {
        assert_eq!(plain("\u{1b}]0;no end\nThe answer is 4."), "0;no end\nThe answer is 4.");
        assert_eq!(plain("\u{1b}[3\nThe answer is 4."), "\nThe answer is 4.");
    }

    #[test]
    fn nothing_that_is_left_can_control_a_terminal() {
        // Removing one sequence must not make another.
        let text = "\u{1b}\u{1b}[[31m\u{9b}\u{1b}]\u{1b}\u{7}[1m\u{9d}\u{9d}x\u{7}";
        assert!(!plain(text).contains(is_control));
    }

    #[test]
    fn long_text_is_cut() {
        assert_eq!(one_line("a\n b\tc", 10), "a b c");
        assert_eq!(one_line("äöüß", 2), "äö…");
    }
}
