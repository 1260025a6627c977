//! Text for a terminal, made harmless.
//!
//! What a model, a tool or a memory says may contain control sequences that move the cursor, change
//! the title or fill the clipboard. Nothing is printed that has not been through a [`Filter`].

use crate::filter::Filter;
use std::error::Error;
use std::fmt::Write;

/// The text without terminal control sequences; of the control characters only newline and tab stay.
pub(crate) fn plain(text: &str) -> String {
    let mut filter = Filter::default();
    let mut out = filter.push(text);
    out.push_str(&filter.finish());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_plain() {
        assert_eq!(plain("\u{1b}[31ma\tb\nc\r\u{7}\u{1b}]0;d"), "a\tb\nc0;d");
    }

    #[test]
    fn long_text_is_cut() {
        assert_eq!(one_line("a\n b\tc", 10), "a b c");
        assert_eq!(one_line("äöüß", 2), "äö…");
    }
}
