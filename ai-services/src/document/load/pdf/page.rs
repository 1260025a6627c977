//! The text of a page, put together from where its pieces are.

use super::font::Fonts;
use lopdf::Object;
use lopdf::content::Operation;

/// A gap between two letters that is a space, in thousandths of the size of the font.
const SPACE: f32 = 180.0;
/// How far pieces of the same line may be above or below each other, and how far the next line is at most,
/// as a share of the size. What is further away begins a paragraph.
const SAME_LINE: f32 = 0.4;
const NEXT_LINE: f32 = 1.9;
/// How wide a character is about, as a share of the size.
const WIDTH: f32 = 0.5;

/// Goes through the operators of a page (ISO 32000-1, 9.4) and writes down the text.
///
/// It knows where pieces begin, but not how wide characters are, nor that a page may have columns: text
/// comes in the order in which it is in the file, which for most files is that of reading. Text within
/// drawings that are used several times (form objects) is left out.
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
    /// Where the last piece began, and about where it ended.
    last: Option<Piece>,
}

#[derive(Clone, Copy)]
struct Piece {
    y: f32,
    end: f32,
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
            last: None,
        }
    }

    pub(super) fn apply(&mut self, operation: &Operation) {
        let operands = operation.operands.as_slice();
        let number = |index: usize| operands.get(index).and_then(value).unwrap_or_default();
        match operation.operator.as_str() {
            "BT" => (self.x, self.y, self.scale) = (0.0, 0.0, 1.0),
            "Tf" => {
                let name = operands.first().and_then(|name| name.as_name().ok());
                self.font = name.unwrap_or_default().to_vec();
                self.size = number(1).abs();
            }
            "TL" => self.leading = number(0),
            "Td" => self.move_by(number(0), number(1)),
            "TD" => {
                self.leading = -number(1);
                self.move_by(number(0), number(1));
            }
            "Tm" => {
                self.scale = number(3).abs().max(number(1).abs());
                (self.x, self.y) = (number(4), number(5));
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

    fn move_by(&mut self, x: f32, y: f32) {
        self.x += x * self.scale;
        self.y += y * self.scale;
    }

    fn next_line(&mut self) {
        self.move_by(0.0, -self.leading);
    }

    fn show(&mut self, piece: Option<&Object>) {
        if let Some(text) = piece.and_then(|piece| self.decode(piece)) {
            self.begin();
            self.write(&text);
        }
    }

    /// Pieces with the gaps between them.
    fn show_spaced(&mut self, pieces: &[Object]) {
        self.begin();
        for piece in pieces {
            if let Some(text) = self.decode(piece) {
                self.write(&text);
            } else if value(piece).is_some_and(|gap| -gap > SPACE) {
                self.space();
            }
        }
    }

    fn decode(&self, piece: &Object) -> Option<String> {
        let Object::String(bytes, _) = piece else { return None };
        self.fonts.decode(&self.font, bytes)
    }

    /// Writes what is between the last piece and the one that begins here.
    fn begin(&mut self) {
        let size = (self.size * self.scale).max(0.1);
        let (x, y) = (self.x, self.y);
        match self.last {
            Some(last) if (last.y - y).abs() <= SAME_LINE * size => {
                // Letters that are placed one by one are no words of their own.
                if (x - last.end).abs() > WIDTH * size {
                    self.space();
                }
            }
            Some(last) if (last.y - y).abs() <= NEXT_LINE * size => self.text.push('\n'),
            Some(_) => self.text.push_str("\n\n"),
            None => {}
        }
        self.last = Some(Piece { y, end: x });
    }

    fn write(&mut self, text: &str) {
        #[allow(clippy::cast_precision_loss, reason = "it is an estimate")]
        let width = text.chars().count() as f32 * WIDTH * self.size * self.scale;
        if let Some(last) = &mut self.last {
            last.end += width;
        }
        // Names of control characters are no text.
        self.text.extend(text.chars().filter(|c| !c.is_control() || c.is_whitespace()));
    }

    fn space(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with(char::is_whitespace) {
            self.text.push(' ');
        }
    }
}

fn value(object: &Object) -> Option<f32> {
    match object {
        #[allow(clippy::cast_precision_loss, reason = "places on a page are small")]
        Object::Integer(number) => Some(*number as f32),
        Object::Real(number) => Some(*number),
        _ => None,
    }
}
