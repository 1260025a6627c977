//! Text of a page, assembled by the positions of its pieces.

use super::font::{Fonts, number};
use lopdf::Object;
use lopdf::content::Operation;

/// Minimum gap between two letters that counts as a space, in thousandths of the font size.
const SPACE: f32 = 180.0;

/// Maximum vertical distance between pieces of one line, relative to the font size.
const SAME_LINE: f32 = 0.4;

/// Maximum distance between two lines of a paragraph, relative to the font size.
const NEXT_LINE: f32 = 1.9;

/// Minimum gap between words, relative to the font size.
const GAP: f32 = 0.15;

/// Maximum width of a character, relative to the font size.
const WIDEST: f32 = 1.0;

/// An interpreter for the text operators of a page (ISO 32000-1, 9.4).
///
/// The text keeps the order of the file, which for most files is the reading order, columns
/// included. Text within form objects (drawings that are used several times) is left out.
pub(super) struct Page<'a> {
    fonts: &'a Fonts<'a>,
    text: String,
    font: Vec<u8>,
    size: f32,
    /// Scale of the text matrix.
    scale: f32,
    leading: f32,
    /// Start of the current line, which operators move.
    x: f32,
    y: f32,
    /// `true` if the position has moved since the last piece.
    is_moved: bool,
    last: Option<Piece>,
}

/// A piece of text that was written.
#[derive(Clone, Copy)]
struct Piece {
    x: f32,
    y: f32,
    /// Width, if known.
    width: Option<f32>,
    /// Length in bytes.
    length: usize,
}

impl<'a> Page<'a> {
    pub(super) fn new(fonts: &'a Fonts<'a>) -> Self {
        Self {
            fonts,
            text: String::new(),
            font: Vec::new(),
            size: 0.0,
            scale: 1.0,
            leading: 0.0,
            x: 0.0,
            y: 0.0,
            is_moved: true,
            last: None,
        }
    }

    pub(super) fn apply(&mut self, operation: &Operation) {
        let operands = operation.operands.as_slice();
        let at = |index: usize| operands.get(index).and_then(number).unwrap_or_default();
        match operation.operator.as_str() {
            "BT" => self.place(0.0, 0.0, 1.0),
            "Tf" => {
                let name = operands.first().and_then(|name| name.as_name().ok());
                self.font = name.unwrap_or_default().to_vec();
                self.size = at(1).abs();
            }
            "TL" => self.leading = at(0),
            "Td" => self.move_by(at(0), at(1)),
            "TD" => {
                self.leading = -at(1);
                self.move_by(at(0), at(1));
            }
            "Tm" => {
                self.place(at(4), at(5), at(3).abs().max(at(1).abs()));
            }
            "T*" => self.next_line(),
            "Tj" => self.show(operands.first()),
            "TJ" => {
                if let Some(Object::Array(pieces)) = operands.first() {
                    self.show_spaced(pieces);
                }
            }
            "'" => {
                self.next_line();
                self.show(operands.first());
            }
            "\"" => {
                self.next_line();
                self.show(operands.get(2));
            }
            _ => {}
        }
    }

    pub(super) fn finish(self) -> String {
        let lines = self.text.lines().map(str::trim_end);
        let text = lines.collect::<Vec<_>>().join("\n");
        text.trim().to_owned()
    }

    fn place(&mut self, x: f32, y: f32, scale: f32) {
        (self.x, self.y, self.scale, self.is_moved) = (x, y, scale, true);
    }

    fn move_by(&mut self, x: f32, y: f32) {
        self.place(self.x + x * self.scale, self.y + y * self.scale, self.scale);
    }

    fn next_line(&mut self) {
        self.move_by(0.0, -self.leading);
    }

    fn show(&mut self, piece: Option<&Object>) {
        self.show_spaced(piece.map(std::slice::from_ref).unwrap_or_default());
    }

    /// Writes pieces with the gaps between them.
    fn show_spaced(&mut self, pieces: &[Object]) {
        self.begin();
        for piece in pieces {
            match piece {
                Object::String(bytes, _) => self.write(bytes),
                gap => self.skip(number(gap).unwrap_or_default()),
            }
        }
    }

    /// Writes the separator between the last piece and the piece that starts here.
    fn begin(&mut self) {
        if !std::mem::take(&mut self.is_moved) {
            return;
        }
        let size = self.shown_size();
        let (x, y) = (self.x, self.y);
        if let Some(last) = self.last {
            let down = (last.y - y).abs();
            if down > NEXT_LINE * size {
                self.text.push_str("\n\n");
            } else if down > SAME_LINE * size {
                self.text.push('\n');
            } else if last.is_apart_from(x, size) {
                self.space();
            }
        }
        self.last = Some(Piece { x, y, width: Some(0.0), length: 0 });
    }

    fn write(&mut self, bytes: &[u8]) {
        let width = self.fonts.width(&self.font, bytes).map(|width| width * self.shown_size());
        if let Some(last) = &mut self.last {
            last.width = last.width.zip(width).map(|(sum, width)| sum + width);
            last.length += bytes.len();
        }
        if let Some(text) = self.fonts.decode(&self.font, bytes) {
            // Control characters are not text.
            self.text.extend(text.chars().filter(|c| !c.is_control() || c.is_whitespace()));
        }
    }

    /// Applies a gap within a piece, in thousandths of the font size; positive values move to the left.
    fn skip(&mut self, gap: f32) {
        let wide = gap / 1000.0 * self.shown_size();
        if let Some(last) = &mut self.last {
            last.width = last.width.map(|width| width - wide);
        }
        if -gap > SPACE {
            self.space();
        }
    }

    fn shown_size(&self) -> f32 {
        (self.size * self.scale).max(0.1)
    }

    fn space(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with(char::is_whitespace) {
            self.text.push(' ');
        }
    }
}

impl Piece {
    /// Returns whether a piece that starts at `x` on the same line is another word.
    fn is_apart_from(self, x: f32, size: f32) -> bool {
        match self.width {
            Some(width) => (x - self.x - width).abs() > GAP * size,
            // Letters that are placed one by one belong to one word; longer pieces are words.
            None => self.length > 2 || (x - self.x).abs() > WIDEST * size,
        }
    }
}
