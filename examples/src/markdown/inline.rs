//! Rendering of the text of a line with its inline markup.

use super::span::{Span, span};
use super::styled_text::{Style, StyledText};

/// Maximum depth of nested emphasis.
const MAX_DEPTH: usize = 4;

/// Renderer of the current line.
pub(super) struct Inline<'a> {
    out: &'a mut StyledText,
    style: Style,
    before: Option<char>,
    depth: usize,
}

impl<'a> Inline<'a> {
    /// Continues a line after the character `before`.
    pub(super) fn new(out: &'a mut StyledText, style: Style, before: Option<char>) -> Self {
        Self { out, style, before, depth: 0 }
    }

    pub(super) fn before(&self) -> Option<char> {
        self.before
    }

    /// Writes the unambiguous part of the text and returns its length in bytes. At the end of a line this is
    /// all of the text.
    pub(super) fn write(&mut self, text: &str, is_end: bool) -> usize {
        let mut rest = text;
        while !rest.is_empty() {
            let marker = rest.find(['*', '_', '`', '[', '\\']).unwrap_or(rest.len());
            let (plain, marked) = rest.split_at(marker);
            self.out.write(self.style, plain);
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

    /// Writes the span at the start of `text` and returns its length in bytes.
    fn write_span(&mut self, span: Span<'_>, text: &str) -> usize {
        match span {
            Span::Open => 0,
            Span::Text(length) => {
                self.out.write(self.style, text.get(..length).unwrap_or_default());
                length
            }
            Span::Escaped(character) => {
                self.out.write(self.style, character);
                1 + character.len()
            }
            Span::Code(code, marker) => {
                self.out.write(self.style.and(Style::CODE), code);
                code.len() + 2 * marker
            }
            Span::Emphasis(style, inner, marker) => {
                self.nested(style, inner);
                inner.len() + 2 * marker
            }
            Span::Link(name, target) => {
                if name != target {
                    self.nested(Style::UNDERLINE, name);
                    self.out.write(self.style, " ");
                }
                self.out.write(self.style.and(Style::DIM), &format!("({target})"));
                name.len() + target.len() + "[]()".len()
            }
        }
    }

    fn nested(&mut self, style: Style, text: &str) {
        let style = self.style.and(style);
        if self.depth == MAX_DEPTH {
            self.out.write(style, text);
            return;
        }
        let out = &mut *self.out;
        Inline { out, style, before: None, depth: self.depth + 1 }.write(text, true);
    }
}
