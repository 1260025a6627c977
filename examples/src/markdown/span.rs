//! Recognition of inline markup: emphasis, code, links.

use super::styled_text::Style;

/// Maximum length of a span, in bytes. A longer one is text.
const MAX_SPAN_BYTES: usize = 1024;

/// Inline element at a position of a line.
#[derive(Clone, Copy, Debug)]
pub(super) enum Span<'a> {
    /// Not known yet: it depends on the rest of the line.
    Open,
    /// Text of this number of bytes.
    Text(usize),
    /// A character after a backslash.
    Escaped(&'a str),
    Code(&'a str, usize),
    Emphasis(Style, &'a str, usize),
    Link(&'a str, &'a str),
}

/// Returns the inline element at the start of the text.
pub(super) fn span(text: &str, before: Option<char>, is_end: bool) -> Span<'_> {
    let mut end = MAX_SPAN_BYTES.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let (lookahead, beyond) = text.split_at(end);
    let lookahead = Lookahead { text: lookahead, is_complete: is_end || !beyond.is_empty() };
    match text.chars().next() {
        Some('`') => lookahead.code(),
        Some('[') => lookahead.link(),
        Some('\\') => lookahead.escaped(),
        Some(mark @ ('*' | '_')) => lookahead.emphasis(mark, before),
        _ => Span::Text(text.len()),
    }
}

/// The part of a line that decides about an element.
#[derive(Clone, Copy)]
struct Lookahead<'a> {
    text: &'a str,
    /// `true` if no further text can change the decision.
    is_complete: bool,
}

impl<'a> Lookahead<'a> {
    fn from(self, start: usize) -> &'a str {
        self.text.get(start..).unwrap_or_default()
    }

    fn between(self, start: usize, end: usize) -> &'a str {
        self.text.get(start..end).unwrap_or_default()
    }

    /// Returns the result for a marker without an end.
    fn unclosed(self, length: usize) -> Span<'a> {
        if self.is_complete { Span::Text(length) } else { Span::Open }
    }

    fn escaped(self) -> Span<'a> {
        match self.from(1).chars().next() {
            Some(c) if c.is_ascii_punctuation() => Span::Escaped(self.between(1, 2)),
            Some(_) => Span::Text(1),
            None => self.unclosed(1),
        }
    }

    fn code(self) -> Span<'a> {
        let marker = run_length(self.text, '`');
        match self.code_end(0) {
            Some(end) => Span::Code(self.between(marker, end - marker), marker),
            None => self.unclosed(marker),
        }
    }

    /// Returns the end of the code that starts at `start`, including its closing marker.
    fn code_end(self, start: usize) -> Option<usize> {
        let marker = run_length(self.from(start), '`');
        let mut at = start + marker;
        loop {
            at += self.from(at).find('`')?;
            let length = run_length(self.from(at), '`');
            at += length;
            // A marker at the end of the text may continue in the next piece.
            if length == marker && (self.is_complete || at < self.text.len()) {
                return Some(at);
            }
        }
    }

    fn link(self) -> Span<'a> {
        let name = match self.closing(0, ['[', ']']) {
            Some(end) => self.between(1, end),
            None => return self.unclosed(1),
        };
        let at = name.len() + 2;
        match self.from(at).chars().next() {
            Some('(') => {}
            Some(_) => return Span::Text(1),
            None => return self.unclosed(1),
        }
        match self.closing(at, ['(', ')']) {
            Some(end) => Span::Link(name, self.between(at + 1, end)),
            None => self.unclosed(1),
        }
    }

    /// Returns the position of the bracket that closes the one at `start`.
    fn closing(self, start: usize, [open, close]: [char; 2]) -> Option<usize> {
        let mut depth = 0_usize;
        let mut is_escaped = false;
        for (at, c) in self.from(start).char_indices() {
            match c {
                _ if is_escaped => is_escaped = false,
                '\\' => is_escaped = true,
                c if c == open => depth += 1,
                c if c == close && depth == 1 => return Some(start + at),
                c if c == close => depth -= 1,
                _ => {}
            }
        }
        None
    }

    fn emphasis(self, mark: char, before: Option<char>) -> Span<'a> {
        let marker = run_length(self.text, mark);
        let Some(next) = self.from(marker).chars().next() else { return self.unclosed(marker) };
        // `2*3` and `snake_case` have no emphasis.
        let is_in_word = match (mark, marker) {
            ('_', _) => before.is_some_and(char::is_alphanumeric),
            ('*', 1) => before.is_some_and(|c| c.is_ascii_alphanumeric()),
            _ => false,
        };
        let style = match marker {
            1 => Style::ITALIC,
            2 => Style::BOLD,
            3 => Style::BOLD.and(Style::ITALIC),
            _ => return Span::Text(marker),
        };
        if is_in_word || next.is_whitespace() {
            return Span::Text(marker);
        }
        match self.emphasis_end(mark, marker) {
            Some(end) => Span::Emphasis(style, self.between(marker, end - marker), marker),
            None => self.unclosed(marker),
        }
    }

    /// Returns the end of the emphasis at the start of the text, including its closing marker.
    fn emphasis_end(self, mark: char, marker: usize) -> Option<usize> {
        // Marker length of a nested emphasis.
        let mut inner = None;
        let mut before = mark;
        let mut at = marker;
        while let Some(c) = self.from(at).chars().next() {
            let length = match c {
                '\\' => 1 + self.from(at + 1).chars().next()?.len_utf8(),
                '`' => match self.code_end(at) {
                    Some(end) => end - at,
                    None if self.is_complete => run_length(self.from(at), '`'),
                    None => return None,
                },
                c if c == mark => {
                    let length = run_length(self.from(at), mark);
                    let after = self.from(at + length).chars().next();
                    if after.is_none() && !self.is_complete {
                        return None;
                    }
                    let flanking = Flanking::new(mark, before, after);
                    match inner {
                        Some(within) if flanking.closes && length == within => inner = None,
                        Some(within) if flanking.closes && length == within + marker => {
                            return Some(at + length);
                        }
                        _ if flanking.closes && length == marker => return Some(at + length),
                        None if flanking.closes && !flanking.opens && length > marker => {
                            return Some(at + length);
                        }
                        _ if flanking.opens => inner = Some(length),
                        _ => {}
                    }
                    length
                }
                c => c.len_utf8(),
            };
            before = self.between(at, at + length).chars().next_back().unwrap_or(before);
            at += length;
        }
        None
    }
}

/// Roles of an emphasis marker, from the characters on both sides.
struct Flanking {
    opens: bool,
    closes: bool,
}

impl Flanking {
    fn new(mark: char, before: char, after: Option<char>) -> Self {
        let is_word = |c: char| mark == '_' && c.is_alphanumeric();
        let opens = after.is_some_and(|c| !c.is_whitespace()) && !is_word(before);
        let closes = !before.is_whitespace() && !after.is_some_and(is_word);
        Self { opens, closes }
    }
}

/// Counts the repetitions of an ASCII character at the start of the text.
fn run_length(text: &str, mark: char) -> usize {
    text.len() - text.trim_start_matches(mark).len()
}
