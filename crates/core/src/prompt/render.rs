//! Templates that are parsed at compile time, and their rendering.

use super::clock::{BuiltIn, Clock};
use super::value::{Variable, unprintable};
use crate::error::{Error, ErrorKind, Result};

/// A template that is parsed at compile time.
#[derive(Clone, Copy, Debug)]
pub struct Template {
    /// The pieces in order.
    pub pieces: &'static [Piece],
}

/// A piece of a [`Template`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Literal text.
    Literal(&'static str),
    /// The value with this index.
    Variable(usize),
    /// The current date.
    CurrentDate,
    /// The current time of day.
    CurrentTime,
    /// The current date and time.
    CurrentDateTime,
}

impl Template {
    /// Returns the text if it does not depend on values and time.
    #[doc(hidden)]
    pub fn fixed(&self) -> Option<String> {
        let texts = self.pieces.iter().map(|piece| match piece {
            Piece::Literal(text) => Some(*text),
            _ => None,
        });
        texts.collect()
    }

    /// Fills in the values. Values are plain text and are never parsed as templates.
    #[doc(hidden)]
    pub fn render(&self, values: &[Variable<'_>], clock: &dyn Clock) -> Result<String> {
        let literals = self.pieces.iter().map(|piece| match piece {
            Piece::Literal(text) => text.len(),
            _ => 16,
        });
        let mut out = String::with_capacity(literals.sum());
        let mut now = None;
        for piece in self.pieces {
            let built_in = match *piece {
                Piece::Literal(text) => {
                    out.push_str(text);
                    continue;
                }
                Piece::Variable(index) => {
                    let value = values.get(index).ok_or_else(missing_value)?;
                    value.write(&mut out)?;
                    continue;
                }
                Piece::CurrentDate => BuiltIn::Date,
                Piece::CurrentTime => BuiltIn::Time,
                Piece::CurrentDateTime => BuiltIn::DateTime,
            };
            let now = now.get_or_insert_with(|| clock.now());
            built_in.write(now, &mut out).map_err(unprintable)?;
        }
        Ok(out)
    }
}

/// Returns the error of an index without a value. Generated code passes a value for every index;
/// hand-written descriptions may not.
fn missing_value() -> Error {
    Error::new(ErrorKind::Prompt, "a template contains a variable without a value")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::LocalDateTime;

    fn noon() -> LocalDateTime {
        "2026-01-02T12:00".parse().unwrap()
    }

    #[test]
    fn values_are_never_parsed_as_templates() {
        let template = Template {
            pieces: &[Piece::Variable(0), Piece::Literal(" {{x}} "), Piece::CurrentDate],
        };
        let values = [Variable::new(&"{{current_date}} $1 \\1")];
        let text = template.render(&values, &noon).unwrap();
        assert_eq!(text, "{{current_date}} $1 \\1 {{x}} 2026-01-02");
    }

    #[test]
    fn text_without_values_and_time_is_fixed() {
        let fixed = Template { pieces: &[Piece::Literal("a"), Piece::Literal("b")] };
        assert_eq!(fixed.fixed(), Some(fixed.render(&[], &noon).unwrap()));
        let dated = Template { pieces: &[Piece::Literal("a"), Piece::CurrentDate] };
        assert_eq!(dated.fixed(), None);
    }

    #[test]
    fn missing_value_is_an_error() {
        let template = Template { pieces: &[Piece::Variable(0)] };
        assert_eq!(template.render(&[], &noon).unwrap_err().kind(), ErrorKind::Prompt);
    }
}
