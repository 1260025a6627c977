//! The text of a line with what is marked in it.

use super::ink::{Ink, Style};
use super::span::{Span, span};

/// How deep emphasis is looked for in emphasis.
const DEEPEST: usize = 4;

/// A line that is being printed.
pub(super) struct Inline<'a> {
    ink: &'a mut Ink,
    style: Style,
    before: Option<char>,
    depth: usize,
}

impl<'a> Inline<'a> {
    /// Goes on behind the character `before`.
    pub(super) fn new(ink: &'a mut Ink, style: Style, before: Option<char>) -> Self {
        Self { ink, style, before, depth: 0 }
    }

    pub(super) fn before(&self) -> Option<char> {
        self.before
    }

    /// Prints what is certain, and tells how many bytes that was: all, if this is the end.
    pub(super) fn write(&mut self, text: &str, is_end: bool) -> usize {
        let mut rest = text;
        while !rest.is_empty() {
            let marker = rest.find(['*', '_', '`', '[', '\\']).unwrap_or(rest.len());
            let (plain, marked) = rest.split_at(marker);
            self.ink.write(self.style, plain);
            self.before = plain.chars().next_back().or(self.before);
            rest = marked;
            let read = match span(marked, self.before, is_end) {
                Span::Open => break,
                span => self.write_span(span, marked),
            };
            let (done, more) = rest.split_at(read);
            self.before = done.chars().next_back().or(self.before);
            rest = more;
        }
        text.len() - rest.len()
    }

    /// Prints what `text` begins with, and tells how many bytes that was.
    fn write_span(&mut self, span: Span<'_>, text: &str) -> usize {
        match span {
            Span::Open => 0,
            Span::Text(length) => {
                self.ink.write(self.style, text.get(..length).unwrap_or_default());
                length
            }
            Span::Escaped(character) => {
                self.ink.write(self.style, character);
                1 + character.len()
            }
            Span::Code(code, marker) => {
                self.ink.write(self.style.and(Style::CODE), code);
                code.len() + 2 * marker
            }
            Span::Emphasis(style, inner, marker) => {
                self.nested(style, inner);
                inner.len() + 2 * marker
            }
            Span::Link(name, target) => {
                if name != target {
                    self.nested(Style::UNDERLINE, name);
                    self.ink.write(self.style, " ");
                }
                self.ink.write(self.style.and(Style::DIM), &format!("({target})"));
                name.len() + target.len() + "[]()".len()
            }
        }
    }

    fn nested(&mut self, style: Style, text: &str) {
        let style = self.style.and(style);
        if self.depth == DEEPEST {
            self.ink.write(style, text);
            return;
        }
        let ink = &mut *self.ink;
        Inline { ink, style, before: None, depth: self.depth + 1 }.write(text, true);
    }
}
