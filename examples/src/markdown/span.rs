//! What can be marked in a line: emphasis, code, links.

use super::ink::Style;

/// How many bytes may be between a marker and its end. What is longer is text.
const LONGEST: usize = 1024;

/// What stands behind a place in a line.
#[derive(Clone, Copy, Debug)]
pub(super) enum Span<'a> {
    /// That depends on what comes.
    Open,
    /// So many bytes that mark nothing.
    Text(usize),
    /// A character behind a backslash.
    Escaped(&'a str),
    Code(&'a str, usize),
    Emphasis(Style, &'a str, usize),
    Link(&'a str, &'a str),
}

/// What stands at the front of the text.
pub(super) fn span(text: &str, before: Option<char>, is_end: bool) -> Span<'_> {
    let mut end = LONGEST.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let (seen, beyond) = text.split_at(end);
    let seen = Seen { text: seen, is_all: is_end || !beyond.is_empty() };
    match text.chars().next() {
        Some('`') => seen.code(),
        Some('[') => seen.link(),
        Some('\\') => seen.escaped(),
        Some(mark @ ('*' | '_')) => seen.emphasis(mark, before),
        _ => Span::Text(text.len()),
    }
}

/// What there is of a line to decide upon.
#[derive(Clone, Copy)]
struct Seen<'a> {
    text: &'a str,
    /// Whether nothing more is waited for.
    is_all: bool,
}

impl<'a> Seen<'a> {
    fn from(self, start: usize) -> &'a str {
        self.text.get(start..).unwrap_or_default()
    }

    fn between(self, start: usize, end: usize) -> &'a str {
        self.text.get(start..end).unwrap_or_default()
    }

    /// What to say if no end was seen.
    fn endless(self, length: usize) -> Span<'a> {
        if self.is_all { Span::Text(length) } else { Span::Open }
    }

    fn escaped(self) -> Span<'a> {
        match self.from(1).chars().next() {
            Some(c) if c.is_ascii_punctuation() => Span::Escaped(self.between(1, 2)),
            Some(_) => Span::Text(1),
            None => self.endless(1),
        }
    }

    fn code(self) -> Span<'a> {
        let marker = run(self.text, '`');
        match self.code_end(0) {
            Some(end) => Span::Code(self.between(marker, end - marker), marker),
            None => self.endless(marker),
        }
    }

    /// Where the code ends that begins at `start`, its marker included.
    fn code_end(self, start: usize) -> Option<usize> {
        let marker = run(self.from(start), '`');
        let mut at = start + marker;
        loop {
            at += self.from(at).find('`')?;
            let length = run(self.from(at), '`');
            at += length;
            // A marker at the very end may go on.
            if length == marker && (self.is_all || at < self.text.len()) {
                return Some(at);
            }
        }
    }

    fn link(self) -> Span<'a> {
        let name = match self.closing(0, ['[', ']']) {
            Some(end) => self.between(1, end),
            None => return self.endless(1),
        };
        let at = name.len() + 2;
        match self.from(at).chars().next() {
            Some('(') => {}
            Some(_) => return Span::Text(1),
            None => return self.endless(1),
        }
        match self.closing(at, ['(', ')']) {
            Some(end) => Span::Link(name, self.between(at + 1, end)),
            None => self.endless(1),
        }
    }

    /// Where the bracket is closed that opens at `start`.
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
        let marker = run(self.text, mark);
        let Some(next) = self.from(marker).chars().next() else { return self.endless(marker) };
        // `2*3` and `snake_case` mean what they say.
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
            None => self.endless(marker),
        }
    }

    /// Where the emphasis ends that the text begins with, its marker included.
    fn emphasis_end(self, mark: char, marker: usize) -> Option<usize> {
        // The marker of an emphasis within.
        let mut inner = None;
        let mut before = mark;
        let mut at = marker;
        while let Some(c) = self.from(at).chars().next() {
            let length = match c {
                '\\' => 1 + self.from(at + 1).chars().next()?.len_utf8(),
                '`' => match self.code_end(at) {
                    Some(end) => end - at,
                    None if self.is_all => run(self.from(at), '`'),
                    None => return None,
                },
                c if c == mark => {
                    let length = run(self.from(at), mark);
                    let after = self.from(at + length).chars().next();
                    if after.is_none() && !self.is_all {
                        return None;
                    }
                    let sides = Sides::new(mark, before, after);
                    match inner {
                        Some(within) if sides.closes && length == within => inner = None,
                        Some(within) if sides.closes && length == within + marker => {
                            return Some(at + length);
                        }
                        _ if sides.closes && length == marker => return Some(at + length),
                        None if sides.closes && !sides.opens && length > marker => {
                            return Some(at + length);
                        }
                        _ if sides.opens => inner = Some(length),
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

/// What a marker can be, from the characters at its sides.
struct Sides {
    opens: bool,
    closes: bool,
}

impl Sides {
    fn new(mark: char, before: char, after: Option<char>) -> Self {
        let is_word = |c: char| mark == '_' && c.is_alphanumeric();
        let opens = after.is_some_and(|c| !c.is_whitespace()) && !is_word(before);
        let closes = !before.is_whitespace() && !after.is_some_and(is_word);
        Self { opens, closes }
    }
}

/// How many bytes the text begins with that are this ASCII character.
fn run(text: &str, mark: char) -> usize {
    text.len() - text.trim_start_matches(mark).len()
}
