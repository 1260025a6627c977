//! Markdown for a terminal, while it arrives.
//!
//! What is printed is never printed again: a line appears as it comes, except for what may still turn
//! out to be a marker. Markers that find no end on their line are text. Tables and fenced code stay as
//! they are, and the terminal wraps.

mod block;
mod ink;
mod inline;
mod span;
#[cfg(test)]
mod tests;

use block::{Begin, Fence, Position};
use ink::{Ink, Style};
use inline::Inline;

const BULLET: &str = "• ";
const QUOTE: &str = "│ ";
const RULE: &str = "────────────────────────";

/// A text in Markdown, of which pieces come in and ready pieces go out. Control sequences have to be
/// filtered before.
#[derive(Debug, Default)]
pub(crate) struct Markdown {
    /// What came of the current line and was not printed yet.
    held: String,
    line: Line,
    /// The last character of the current line that was printed.
    before: Option<char>,
    /// The block of code that the current line is in.
    fence: Option<Fence>,
}

/// How the rest of the current line is read.
#[derive(Clone, Copy, Debug)]
enum Line {
    /// What kind of line it is depends on what comes.
    Begin(Position),
    Inline(Style),
    Verbatim(Style),
    /// Nothing is expected, or will be shown.
    Over,
}

impl Default for Line {
    fn default() -> Self {
        Self::Begin(Position::First)
    }
}

impl Markdown {
    /// What can be printed with this piece.
    pub(crate) fn push(&mut self, piece: &str) -> String {
        let mut ink = Ink::default();
        for part in piece.split_inclusive('\n') {
            let text = part.strip_suffix('\n');
            self.held.push_str(text.unwrap_or(part));
            if text.is_some() {
                self.end_line(&mut ink);
                ink.write(Style::PLAIN, "\n");
            } else {
                self.advance(&mut ink, false);
            }
        }
        ink.finish()
    }

    /// What is left once there is no more.
    pub(crate) fn finish(&mut self) -> String {
        let mut ink = Ink::default();
        self.end_line(&mut ink);
        self.fence = None;
        ink.finish()
    }

    fn end_line(&mut self, ink: &mut Ink) {
        self.advance(ink, true);
        self.held.clear();
        self.line = Line::default();
        self.before = None;
    }

    /// Prints what is certain of the current line: all of it, if this is its end.
    fn advance(&mut self, ink: &mut Ink, is_end: bool) {
        while let Line::Begin(position) = self.line {
            let Some(begin) = block::begin(&self.held, self.fence, position, is_end) else {
                return;
            };
            self.begin(begin, ink);
        }
        let printed = match self.line {
            Line::Inline(style) => {
                let mut inline = Inline::new(ink, style, self.before);
                let printed = inline.write(&self.held, is_end);
                self.before = inline.before();
                printed
            }
            Line::Verbatim(style) => {
                ink.write(style, &self.held);
                self.held.len()
            }
            Line::Begin(_) | Line::Over => self.held.len(),
        };
        self.held.drain(..printed);
    }

    /// Prints what a line begins with.
    fn begin(&mut self, begin: Begin, ink: &mut Ink) {
        let (indent, marker) = begin.marker(&self.held);
        ink.write(Style::PLAIN, self.held.get(..indent).unwrap_or_default());
        self.held.drain(..indent + marker);
        self.line = match begin {
            Begin::Text => Line::Inline(Style::PLAIN),
            Begin::Table => Line::Verbatim(Style::PLAIN),
            Begin::Heading { level } => Line::Inline(match level {
                1 | 2 => Style::BOLD.and(Style::UNDERLINE),
                _ => Style::BOLD,
            }),
            Begin::Bullet => {
                ink.write(Style::PLAIN, BULLET);
                Line::Inline(Style::PLAIN)
            }
            Begin::Quote => {
                ink.write(Style::DIM, QUOTE);
                Line::Begin(Position::Quoted)
            }
            Begin::Rule => {
                ink.write(Style::DIM, RULE);
                Line::Over
            }
            Begin::Open(fence) => {
                self.fence = Some(fence);
                Line::Verbatim(Style::DIM)
            }
            Begin::Close => {
                self.fence = None;
                Line::Verbatim(Style::DIM)
            }
            Begin::Code => Line::Verbatim(Style::PLAIN),
        };
    }
}
