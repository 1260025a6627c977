//! Removal of terminal control sequences, piece by piece.

/// Maximum length of a terminal command, such as the one that sets the title, in bytes. A longer one is
/// treated as text.
const MAX_COMMAND_BYTES: usize = 4096;

/// Removes terminal control sequences from a text that arrives in pieces, and all control characters except
/// newline and tab.
///
/// Of a command without an end only the introducer is removed, not the rest of the answer.
#[derive(Debug, Default)]
pub(crate) struct Filter(State);

#[derive(Debug, Default)]
enum State {
    #[default]
    Text,
    /// After ESC.
    Escape,
    /// After ESC and intermediate characters, for example of character sets.
    Intermediate,
    /// In the parameters of a control sequence.
    Parameters,
    /// In a command. Its text is kept in case the command has no end.
    Command(String),
    /// After an ESC in a command, which may be the first half of its end.
    CommandEscape(String),
}

impl Filter {
    /// Adds a piece and returns the text that can be printed.
    pub(crate) fn push(&mut self, piece: &str) -> String {
        let mut out = String::with_capacity(piece.len());
        for c in piece.chars() {
            let state = std::mem::take(&mut self.0);
            self.0 = next(state, c, &mut out);
        }
        out
    }

    /// Returns the remaining text at the end of the input.
    pub(crate) fn finish(&mut self) -> String {
        match std::mem::take(&mut self.0) {
            State::Command(text) | State::CommandEscape(text) => text,
            _ => String::new(),
        }
    }
}

fn next(state: State, c: char, out: &mut String) -> State {
    match (state, c) {
        (State::Escape, '[') => State::Parameters,
        (State::Escape, 'P' | 'X' | ']' | '^' | '_') => State::Command(String::new()),
        (State::Escape | State::Intermediate, ' '..='/') => State::Intermediate,
        (State::Escape | State::Intermediate, '0'..='~') => State::Text,
        (State::Parameters, ' '..='?') => State::Parameters,
        (State::Parameters, '@'..='~') => State::Text,
        (State::Command(_), '\u{7}' | '\u{9c}') | (State::CommandEscape(_), '\\') => State::Text,
        (State::Command(text), '\u{1b}') => State::CommandEscape(text),
        (State::Command(mut text), c) if !c.is_control() && text.len() < MAX_COMMAND_BYTES => {
            text.push(c);
            State::Command(text)
        }
        (State::Command(text), c) => {
            out.push_str(&text);
            text_or_control(c, out)
        }
        (State::CommandEscape(text), c) => {
            out.push_str(&text);
            next(State::Escape, c, out)
        }
        (State::Text | State::Escape | State::Intermediate | State::Parameters, c) => {
            text_or_control(c, out)
        }
    }
}

fn text_or_control(c: char, out: &mut String) -> State {
    match c {
        '\u{1b}' => State::Escape,
        // One character that is equivalent to ESC and a letter.
        '\u{9b}' => State::Parameters,
        '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => State::Command(String::new()),
        '\n' | '\t' => {
            out.push(c);
            State::Text
        }
        c if c.is_control() => State::Text,
        c => {
            out.push(c);
            State::Text
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filtered<'a>(pieces: impl IntoIterator<Item = &'a str>) -> String {
        let mut filter = Filter::default();
        let mut text: String = pieces.into_iter().map(|piece| filter.push(piece)).collect();
        text.push_str(&filter.finish());
        text
    }

    const CASES: [(&str, &str); 18] = [
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
        ("\u{1b}]0;no end\nThe answer is 4.", "0;no end\nThe answer is 4."),
        ("\u{1b}]0;no end\u{1b}[1m4", "0;no end4"),
        ("\u{1b}]0;no end", "0;no end"),
        ("\u{1b}[3\nThe answer is 4.", "\nThe answer is 4."),
    ];

    #[test]
    fn control_sequences_are_removed() {
        for (text, expected) in CASES {
            assert_eq!(filtered([text]), expected, "{text:?}");
        }
    }

    #[test]
    fn control_sequences_are_removed_wherever_pieces_end() {
        for (text, expected) in CASES {
            for at in (0..text.len()).filter(|&at| text.is_char_boundary(at)) {
                let (first, second) = text.split_at(at);
                assert_eq!(filtered([first, second]), expected, "{text:?} at {at}");
            }
            assert_eq!(filtered(text.split_inclusive(|_| true)), expected, "{text:?}");
        }
    }

    #[test]
    fn text_is_not_held_back() {
        let mut filter = Filter::default();
        assert_eq!(filter.push("a\u{1b}"), "a");
        assert_eq!(filter.push("[1mb"), "b");
        let endless = "x".repeat(2 * MAX_COMMAND_BYTES);
        assert!(filter.push("\u{1b}]").is_empty());
        assert_eq!(filter.push(&endless), endless);
    }

    #[test]
    fn filtered_text_has_no_control_characters() {
        // Removing one sequence must not make another.
        let text = "\u{1b}\u{1b}[[31m\u{9b}\u{1b}]\u{1b}\u{7}[1m\u{9d}\u{9d}x\u{7}";
        assert!(!filtered([text]).contains(char::is_control));
    }
}
