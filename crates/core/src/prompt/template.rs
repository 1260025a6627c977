//! Templates that are parsed at run time.

use super::clock::{BuiltIn, Clock, SystemClock};
use super::render::unprintable;
use crate::error::{Error, ErrorKind, Result};
use ai_services_template::Segment;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{Display, Write};

/// A template whose text is known only at run time.
///
/// The grammar is that of `#[user_message("…")]`: `{{name}}` with blanks allowed inside, `{{{{` and
/// `}}}}` for literal double braces. `current_date`, `current_time` and `current_date_time` need no
/// value. Templates on a trait are checked by the compiler: prefer them where you can.
///
/// # Examples
///
/// ```
/// use ai_services::prompt::{PromptTemplate, PromptVariables};
///
/// let template = PromptTemplate::parse("My name is {{ name }}, I am {{age}}.")?;
/// assert_eq!(template.variables().collect::<Vec<_>>(), ["age", "name"]);
///
/// let text = template.render(&PromptVariables::new().with("name", "Klaus").with("age", 42))?;
/// assert_eq!(text, "My name is Klaus, I am 42.");
/// # Ok::<(), ai_services::Error>(())
/// ```
///
/// # Errors
///
/// [`parse`](Self::parse) and [`render`](Self::render) return [`ErrorKind::Prompt`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptTemplate {
    pieces: Vec<RunTimePiece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum RunTimePiece {
    Text(Box<str>),
    Variable(Box<str>),
    BuiltIn(BuiltIn),
}

impl PromptTemplate {
    /// Parses a template.
    ///
    /// # Errors
    ///
    /// For a template that is empty or blank, and for one that breaks the grammar.
    pub fn parse(source: &str) -> Result<Self> {
        if source.trim().is_empty() {
            return Err(Error::new(ErrorKind::Prompt, "a template is empty"));
        }
        let segments = ai_services_template::parse(source).map_err(|source| {
            Error::new(ErrorKind::Prompt, format!("a template is malformed: {source}"))
                .with_source(source)
        })?;
        Ok(Self { pieces: segments.iter().map(run_time_piece).collect() })
    }

    /// The names of all variables, built-in ones included, sorted and without repetition.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        let names = self.pieces.iter().filter_map(|piece| match piece {
            RunTimePiece::Text(_) => None,
            RunTimePiece::Variable(name) => Some(&**name),
            RunTimePiece::BuiltIn(built_in) => Some(built_in.name()),
        });
        names.collect::<BTreeSet<_>>().into_iter()
    }

    /// Fills in the values, with the system's date and time.
    ///
    /// # Errors
    ///
    /// If a variable has no value (the message names all that are missing), and if the result is blank.
    pub fn render(&self, values: &PromptVariables) -> Result<String> {
        self.render_at(values, &SystemClock)
    }

    /// Fills in the values, with the date and time of `clock`.
    ///
    /// # Errors
    ///
    /// As [`render`](Self::render).
    pub fn render_at(&self, values: &PromptVariables, clock: &dyn Clock) -> Result<String> {
        let missing: BTreeSet<&str> = self.missing(values).collect();
        if !missing.is_empty() {
            let names = missing.into_iter().collect::<Vec<_>>().join("`, `");
            return Err(Error::new(ErrorKind::Prompt, format!("no value for `{names}`")));
        }
        let mut out = String::new();
        let now = clock.now();
        for piece in &self.pieces {
            match piece {
                RunTimePiece::Text(text) => out.push_str(text),
                RunTimePiece::Variable(name) => out.push_str(values.get(name).unwrap_or_default()),
                RunTimePiece::BuiltIn(built_in) => {
                    built_in.write(&now, &mut out).map_err(unprintable)?;
                }
            }
        }
        if out.trim().is_empty() {
            return Err(Error::new(ErrorKind::Prompt, "the rendered prompt is blank"));
        }
        Ok(out)
    }

    fn missing<'a>(&'a self, values: &'a PromptVariables) -> impl Iterator<Item = &'a str> {
        self.pieces.iter().filter_map(|piece| match piece {
            RunTimePiece::Variable(name) if values.get(name).is_none() => Some(&**name),
            _ => None,
        })
    }
}

fn run_time_piece(segment: &Segment<'_>) -> RunTimePiece {
    match *segment {
        Segment::Text(text) => RunTimePiece::Text(text.into()),
        Segment::Placeholder { name, .. } => match BuiltIn::named(name) {
            Some(built_in) => RunTimePiece::BuiltIn(built_in),
            None => RunTimePiece::Variable(name.into()),
        },
    }
}

/// Values for the variables of a [`PromptTemplate`].
#[derive(Clone, Debug, Default)]
pub struct PromptVariables(BTreeMap<Box<str>, String>);

impl PromptVariables {
    /// No values.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a value, replacing an earlier one of the same name.
    #[must_use]
    pub fn with(mut self, name: impl Into<Box<str>>, value: impl Display) -> Self {
        let mut text = String::new();
        // Printing into a string fails only if the value itself says so; it is then empty.
        let _ = write!(text, "{value}");
        self.0.insert(name.into(), text);
        self
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_missing_variables_are_named_once() {
        let template = PromptTemplate::parse("{{c}} {{b}} {{a}} {{c}}").unwrap();
        let error = template.render(&PromptVariables::new().with("b", 1)).unwrap_err();
        assert_eq!(error.to_string(), "no value for `a`, `c`");
    }

    #[test]
    fn built_ins_win_over_values() {
        let template = PromptTemplate::parse("{{current_date}}").unwrap();
        let clock = || "2026-01-02T12:00".parse().unwrap();
        let values = PromptVariables::new().with("current_date", "never");
        assert_eq!(template.render_at(&values, &clock).unwrap(), "2026-01-02");
    }

    #[test]
    fn blank_and_broken_templates_are_errors() {
        for source in ["", " \n", "{{x", "{{}}"] {
            assert_eq!(PromptTemplate::parse(source).unwrap_err().kind(), ErrorKind::Prompt);
        }
    }
}
