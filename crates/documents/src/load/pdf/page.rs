//! The text of a page, put together from where its pieces are.

use super::font::{Fonts, number};
use lopdf::Object;
use lopdf::content::Operation;

/// A gap between two letters that is a space, in thousandths of the size of the font.
const SPACE: f32 = 180.0;
/// How far pieces of the same line may be above or below each other, and how far the next line is at most,
/// as a share of the size. What is further away begins a paragraph.
const SAME_LINE: f32 = 0.4;
const NEXT_LINE: f32 = 1.9;
/// How wide a gap between words is at least, and a character at most, as a share of the size.
const GAP: f32 = 0.15;
const WIDEST: f32 = 1.0;

/// Goes through the operators of a page (ISO 32000-1, 9.4) and writes down the text.
///
/// Text comes in the order in which it is in the file, which for most files is that of reading, columns
/// included. Text within drawings that are used several times (form objects) is left out.
pub(super) struct Page<'a> {
    fonts: &'a Fonts<'a>,
    text: String,
    font: Vec<u8>,
    size: f32,
    /// How much larger the text is shown.
    scale: f32,
    leading: f32,
    /// Where the line begins that operators move.
    x: f32,
    y: f32,
    /// Whether it was moved since the last piece.
    is_moved: bool,
    last: Option<Piece>,
}

/// A piece that was written.
#[derive(Clone, Copy)]
struct Piece {
    x: f32,
    y: f32,
    /// Its width, if that is known, and how many bytes it has.
    width: Option<f32>,
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

    /// Pieces with the gaps between them.
    fn show_spaced(&mut self, pieces: &[Object]) {
        self.begin();
        for piece in pieces {
            match piece {
                Object::String(bytes, _) => self.write(bytes),
                gap => self.skip(number(gap).unwrap_or_default()),
            }
        }
    }

    /// Writes what is between the last piece and the one that begins here.
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
            // Names of control characters are no text.
            self.text.extend(text.chars().filter(|c| !c.is_control() || c.is_whitespace()));
        }
    }

    /// A gap within a piece, in thousandths of the size and to the left.
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
    /// Whether what begins at `x` on the same line is another word.
    fn is_apart_from(self, x: f32, size: f32) -> bool {
        match self.width {
            Some(width) => (x - self.x - width).abs() > GAP * size,
            // Letters that are placed one by one are no words of their own; anything longer is.
            None => self.length > 2 || (x - self.x).abs() > WIDEST * size,
        }
    }
}
