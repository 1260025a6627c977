//! Templates that are parsed at run time.

use super::clock::{BuiltIn, Clock, SystemClock};
use super::value::{JsonValue, TemplateValue, Variable, unprintable};
use crate::error::{Error, ErrorKind, Result};
use ai_services_template::Segment;
use std::collections::{BTreeMap, BTreeSet};

/// A template that is parsed at run time.
///
/// The syntax is the same as in `#[user_message("…")]`: `{{name}}` with optional blanks inside, `{{{{` and
/// `}}}}` in pairs for literal double braces. Four closing braces without `{{{{` are an error: write `}} }}` at
/// the end of compact JSON. `current_date`, `current_time` and `current_date_time` are built in and
/// need no value. Prefer templates on a trait if possible: they are checked by the compiler.
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
    pieces: Vec<RuntimePiece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum RuntimePiece {
    Text(Box<str>),
    Variable(Box<str>),
    BuiltIn(BuiltIn),
}

impl PromptTemplate {
    /// Parses a template.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Prompt`] if the template is empty, blank or malformed.
    pub fn parse(source: &str) -> Result<Self> {
        if source.trim().is_empty() {
            return Err(Error::new(ErrorKind::Prompt, "the template is empty"));
        }
        let segments = ai_services_template::parse(source).map_err(|source| {
            Error::new(ErrorKind::Prompt, format!("malformed template: {source}"))
                .with_source(source)
        })?;
        Ok(Self { pieces: segments.iter().map(runtime_piece).collect() })
    }

    /// Returns the names of all variables, including built-in ones, sorted and without duplicates.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        let names = self.pieces.iter().filter_map(|piece| match piece {
            RuntimePiece::Text(_) => None,
            RuntimePiece::Variable(name) => Some(&**name),
            RuntimePiece::BuiltIn(built_in) => Some(built_in.name()),
        });
        names.collect::<BTreeSet<_>>().into_iter()
    }

    /// Fills in the values, with the system's date and time.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Prompt`] if a variable has no value or if the result is blank. The message names all
    /// missing variables.
    pub fn render(&self, values: &PromptVariables) -> Result<String> {
        self.render_at(values, &SystemClock)
    }

    /// Fills in the values, with the date and time of `clock`.
    ///
    /// # Errors
    ///
    /// See [`render`](Self::render).
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
                RuntimePiece::Text(text) => out.push_str(text),
                RuntimePiece::Variable(name) => out.push_str(values.get(name).unwrap_or_default()),
                RuntimePiece::BuiltIn(built_in) => {
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
            RuntimePiece::Variable(name) if values.get(name).is_none() => Some(&**name),
            _ => None,
        })
    }
}

fn runtime_piece(segment: &Segment<'_>) -> RuntimePiece {
    match *segment {
        Segment::Text(text) => RuntimePiece::Text(text.into()),
        Segment::Placeholder { name, .. } => match BuiltIn::named(name) {
            Some(built_in) => RuntimePiece::BuiltIn(built_in),
            None => RuntimePiece::Variable(name.into()),
        },
    }
}

/// Values for the variables of a [`PromptTemplate`].
#[derive(Clone, Debug, Default)]
pub struct PromptVariables(BTreeMap<Box<str>, String>);

impl PromptVariables {
    /// Creates an empty set of values.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a value: anything that implements [`Display`](std::fmt::Display), or an `Option` of it. `None` is an
    /// empty text. Replaces an earlier value with the same name.
    #[must_use]
    #[allow(clippy::needless_pass_by_value, reason = "so that calls need no `&`")]
    pub fn with<K>(mut self, name: impl Into<Box<str>>, value: impl TemplateValue<K>) -> Self {
        let mut text = String::new();
        // This fails only if the value's `Display` implementation fails. The text written so far is used.
        let _ = Variable::new(&value).write(&mut text);
        self.0.insert(name.into(), text);
        self
    }

    /// Adds a value as JSON. Replaces an earlier value with the same name.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Prompt`] if the value cannot be written as JSON, for example a map whose keys are lists.
    ///
    /// # Examples
    ///
    /// ```
    /// use ai_services::prompt::{PromptTemplate, PromptVariables};
    ///
    /// let values = PromptVariables::new().with("city", Some("Oslo")).with_json("days", &[1, 2])?;
    /// let template = PromptTemplate::parse("{{city}}: {{days}}")?;
    /// assert_eq!(template.render(&values)?, "Oslo: [1,2]");
    /// # Ok::<(), ai_services::Error>(())
    /// ```
    pub fn with_json(mut self, name: impl Into<Box<str>>, value: &impl JsonValue) -> Result<Self> {
        let mut text = String::new();
        Variable::json(value).write(&mut text)?;
        self.0.insert(name.into(), text);
        Ok(self)
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_variables_are_all_named_once() {
        let template = PromptTemplate::parse("{{c}} {{b}} {{a}} {{c}}").unwrap();
        let error = template.render(&PromptVariables::new().with("b", 1)).unwrap_err();
        assert_eq!(error.to_string(), "no value for `a`, `c`");
    }

    #[test]
    fn built_ins_override_values() {
        let template = PromptTemplate::parse("{{current_date}}").unwrap();
        let clock = || "2026-01-02T12:00".parse().unwrap();
        let values = PromptVariables::new().with("current_date", "never");
        assert_eq!(template.render_at(&values, &clock).unwrap(), "2026-01-02");
    }

    #[test]
    fn blank_and_malformed_templates_are_errors() {
        for source in ["", " \n", "{{x", "{{}}", r#"{"a":{"b":{"c":{}}}}"#] {
            assert_eq!(PromptTemplate::parse(source).unwrap_err().kind(), ErrorKind::Prompt);
        }
    }
}
