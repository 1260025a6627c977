//! Incremental rendering of Markdown for a terminal.
//!
//! Output is never corrected afterwards: a line appears as it arrives, except for text that may still become
//! a marker. Markers without an end on their line are text. Tables and fenced code are printed unchanged, and
//! the terminal wraps long lines.

mod block;
mod inline;
mod span;
mod styled_text;
#[cfg(test)]
mod tests;

use block::{Fence, LineKind, Position};
use inline::Inline;
use styled_text::{Style, StyledText};

const BULLET: &str = "• ";
const QUOTE: &str = "│ ";
const RULE: &str = "────────────────────────";

/// Incremental Markdown renderer. Its input must not contain control sequences.
#[derive(Debug, Default)]
pub(crate) struct Markdown {
    /// Text of the current line that was not printed yet.
    pending: String,
    line: LineState,
    /// Last printed character of the current line.
    before: Option<char>,
    /// Fence of the code block that contains the current line.
    fence: Option<Fence>,
}

/// Parsing mode of the rest of the current line.
#[derive(Clone, Copy, Debug)]
enum LineState {
    /// The kind of the line is not known yet.
    Start(Position),
    Inline(Style),
    Verbatim(Style),
    /// The rest of the line is not shown.
    Ignored,
}

impl Default for LineState {
    fn default() -> Self {
        Self::Start(Position::First)
    }
}

impl Markdown {
    /// Adds a piece and returns the text that can be printed.
    pub(crate) fn push(&mut self, piece: &str) -> String {
        let mut out = StyledText::default();
        for part in piece.split_inclusive('\n') {
            let text = part.strip_suffix('\n');
            self.pending.push_str(text.unwrap_or(part));
            if text.is_some() {
                self.end_line(&mut out);
                out.write(Style::PLAIN, "\n");
            } else {
                self.advance(&mut out, false);
            }
        }
        out.finish()
    }

    /// Returns the remaining text at the end of the input.
    pub(crate) fn finish(&mut self) -> String {
        let mut out = StyledText::default();
        self.end_line(&mut out);
        self.fence = None;
        out.finish()
    }

    fn end_line(&mut self, out: &mut StyledText) {
        self.advance(out, true);
        self.pending.clear();
        self.line = LineState::default();
        self.before = None;
    }

    /// Writes the unambiguous part of the current line; at the end of the line, all of it.
    fn advance(&mut self, out: &mut StyledText, is_end: bool) {
        while let LineState::Start(position) = self.line {
            let Some(kind) = block::line_kind(&self.pending, self.fence, position, is_end) else {
                return;
            };
            self.begin_line(kind, out);
        }
        let printed = match self.line {
            LineState::Inline(style) => {
                let mut inline = Inline::new(out, style, self.before);
                let printed = inline.write(&self.pending, is_end);
                self.before = inline.before();
                printed
            }
            LineState::Verbatim(style) => {
                out.write(style, &self.pending);
                self.pending.len()
            }
            LineState::Start(_) | LineState::Ignored => self.pending.len(),
        };
        self.pending.drain(..printed);
    }

    /// Writes the marker of a line.
    fn begin_line(&mut self, kind: LineKind, out: &mut StyledText) {
        let (indent, marker) = kind.marker(&self.pending);
        out.write(Style::PLAIN, self.pending.get(..indent).unwrap_or_default());
        self.pending.drain(..indent + marker);
        self.line = match kind {
            LineKind::Text => LineState::Inline(Style::PLAIN),
            LineKind::Table => LineState::Verbatim(Style::PLAIN),
            LineKind::Heading { level } => LineState::Inline(match level {
                1 | 2 => Style::BOLD.and(Style::UNDERLINE),
                _ => Style::BOLD,
            }),
            LineKind::Bullet => {
                out.write(Style::PLAIN, BULLET);
                LineState::Inline(Style::PLAIN)
            }
            LineKind::Quote => {
                out.write(Style::DIM, QUOTE);
                LineState::Start(Position::Quoted)
            }
            LineKind::Rule => {
                out.write(Style::DIM, RULE);
                LineState::Ignored
            }
            LineKind::Open(fence) => {
                self.fence = Some(fence);
                LineState::Verbatim(Style::DIM)
            }
            LineKind::Close => {
                self.fence = None;
                LineState::Verbatim(Style::DIM)
            }
            LineKind::Code => LineState::Verbatim(Style::PLAIN),
        };
    }
}
