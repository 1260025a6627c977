//! Text without control sequences, for a terminal.
//!
//! Text of a model, a tool or a memory may contain control sequences that move the cursor, change the title
//! or write to the clipboard. All text passes through a [`Filter`] before it is printed.

use crate::filter::Filter;
use std::error::Error;
use std::fmt::Write;

/// Removes terminal control sequences and all control characters except newline and tab.
pub(crate) fn plain(text: &str) -> String {
    let mut filter = Filter::default();
    let mut out = filter.push(text);
    out.push_str(&filter.finish());
    out
}

/// Joins the text to one line of at most `max_chars` characters.
pub(crate) fn one_line(text: &str, max_chars: usize) -> String {
    let mut line = plain(text).split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((end, _)) = line.char_indices().nth(max_chars) {
        line.truncate(end);
        line.push('…');
    }
    line
}

/// Formats an error and its causes on one line.
pub(crate) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut last = error;
    // The messages of the library's errors include their causes.
    while let (false, Some(cause)) = (last.is::<ai_services::Error>(), last.source()) {
        let _ = write!(text, ": {cause}");
        last = cause;
    }
    one_line(&text, 500)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_removed() {
        assert_eq!(plain("\u{1b}[31ma\tb\nc\r\u{7}\u{1b}]0;d"), "a\tb\nc0;d");
    }

    #[test]
    fn long_text_is_truncated() {
        assert_eq!(one_line("a\n b\tc", 10), "a b c");
        assert_eq!(one_line("äöüß", 2), "äö…");
    }
}
