//! The error of JSON that does not match a type.

use super::hints::{Hint, HintTarget};
use crate::output::json::Node;
use serde::de::{Error, Expected, Unexpected};
use std::fmt::{self, Write};

/// The error of JSON that does not match a type, with the path of the wrong value.
#[derive(Debug)]
pub(in crate::output) struct ReadError(Box<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// The path, innermost step first.
    path: Vec<Step>,
    reason: String,
    /// The missing member of the innermost struct.
    missing: Option<&'static str>,
    hint: Option<Hint>,
}

#[derive(Debug)]
enum Step {
    Member(Box<str>),
    Item(usize),
}

impl ReadError {
    fn new(reason: String) -> Self {
        Self(Box::new(Inner { reason, ..Inner::default() }))
    }

    /// Creates the error of a node of another type than expected.
    pub(in crate::output) fn expected(expected: &str, node: &Node<'_>) -> Self {
        Self::invalid_type(super::unexpected(node), &expected)
    }

    /// Adds the member of the surrounding object to the path.
    pub(in crate::output) fn in_member(mut self, name: &str) -> Self {
        self.0.path.push(Step::Member(name.into()));
        self.0.missing = None;
        self
    }

    /// Adds the item of the surrounding list to the path.
    pub(super) fn in_item(mut self, index: usize) -> Self {
        self.0.path.push(Step::Item(index));
        self.0.missing = None;
        self
    }

    /// Adds the hint to omit an incomplete node, unless there is a hint for a node inside it.
    pub(super) fn with_omit_hint(mut self, node: &Node<'_>) -> Self {
        if self.0.hint.is_none() && node.is_open() {
            self.0.hint = Some(Hint::omit(node));
        }
        self
    }

    /// Adds the hint to fill a missing member of the struct with an empty value.
    pub(super) fn with_fill_hint(mut self, target: HintTarget) -> Self {
        if let Some(field) = self.0.missing.take()
            && self.0.hint.is_none()
        {
            self.0.hint = Some(Hint::Fill(target, field));
        }
        self
    }

    /// Returns the hint for the next attempt to read an incomplete value.
    pub(in crate::output) fn hint(&self) -> Option<Hint> {
        self.0.hint
    }

    /// Returns the path of the wrong value, for example `items[2].qty`.
    pub(in crate::output) fn path(&self) -> String {
        let mut path = String::new();
        for step in self.0.path.iter().rev() {
            match step {
                Step::Member(name) if path.is_empty() => path.push_str(name),
                Step::Member(name) => {
                    path.push('.');
                    path.push_str(name);
                }
                // Writing to a `String` cannot fail.
                Step::Item(index) => write!(path, "[{index}]").unwrap_or_default(),
            }
        }
        path
    }

    /// Returns the reason, for example `expected u32, found "many"`.
    pub(in crate::output) fn reason(&self) -> &str {
        &self.0.reason
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.reason)
    }
}

impl std::error::Error for ReadError {}

impl Error for ReadError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(message.to_string())
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::new(format!("expected {expected}, found {}", Found(found)))
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_type(found, expected)
    }

    fn invalid_length(length: usize, expected: &dyn Expected) -> Self {
        Self::new(format!("expected {expected}, found {length} items"))
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        let found = Found(Unexpected::Str(variant));
        Self::new(format!("expected {}, found {found}", one_of(expected)))
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        let field = Found(Unexpected::Str(field));
        Self::new(format!("unknown member {field}, expected {}", one_of(expected)))
    }

    fn missing_field(field: &'static str) -> Self {
        let mut error = Self::new(format!("the member `{field}` is missing"));
        error.0.missing = Some(field);
        error
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::new(format!("duplicate member `{field}`"))
    }
}

fn one_of(names: &[&str]) -> String {
    match names {
        [] => "nothing".to_owned(),
        [name] => format!("`{name}`"),
        names => format!("one of `{}`", names.join("`, `")),
    }
}

/// The short `Display` form of an unexpected value.
struct Found<'a>(Unexpected<'a>);

impl fmt::Display for Found<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// Maximum number of quoted characters of a text.
        const MAX_QUOTE: usize = 60;
        match self.0 {
            Unexpected::Str(text) if text.chars().nth(MAX_QUOTE).is_some() => {
                let start: String = text.chars().take(MAX_QUOTE).collect();
                write!(f, "{start:?}…")
            }
            Unexpected::Str(text) => write!(f, "{text:?}"),
            Unexpected::Char(c) => write!(f, "{c:?}"),
            Unexpected::Bool(value) => write!(f, "{value}"),
            Unexpected::Unsigned(number) => write!(f, "{number}"),
            Unexpected::Signed(number) => write!(f, "{number}"),
            Unexpected::Float(number) => write!(f, "{number}"),
            Unexpected::Unit | Unexpected::Option => f.write_str("null"),
            Unexpected::Seq => f.write_str("an array"),
            Unexpected::Map => f.write_str("an object"),
            Unexpected::Other(text) => f.write_str(text.get(..MAX_QUOTE).unwrap_or(text)),
            other => write!(f, "{other}"),
        }
    }
}
