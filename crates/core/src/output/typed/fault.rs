//! Why JSON is not of a type, and where.

use super::learned::{Place, Remedy};
use crate::output::json::Node;
use serde::de::{Error, Expected, Unexpected};
use std::fmt::{self, Write};

/// Why JSON is not of a type, and where.
#[derive(Debug)]
pub(in crate::output) struct Fault(Box<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// From the inside to the outside.
    path: Vec<Step>,
    reason: String,
    /// The member that the innermost struct misses.
    missing: Option<&'static str>,
    remedy: Option<Remedy>,
}

#[derive(Debug)]
enum Step {
    Member(Box<str>),
    Item(usize),
}

impl Fault {
    fn new(reason: String) -> Self {
        Self(Box::new(Inner { reason, ..Inner::default() }))
    }

    /// Something else was wanted in the place of this node.
    pub(in crate::output) fn expected(what: &str, node: &Node<'_>) -> Self {
        Self::invalid_type(super::unexpected(node), &what)
    }

    /// The same, seen from the object around it.
    pub(in crate::output) fn in_member(mut self, name: &str) -> Self {
        self.0.path.push(Step::Member(name.into()));
        self.0.missing = None;
        self
    }

    /// The same, seen from the list around it.
    pub(super) fn in_item(mut self, index: usize) -> Self {
        self.0.path.push(Step::Item(index));
        self.0.missing = None;
        self
    }

    /// What helps is to leave out an unfinished node, unless something inside it helps.
    pub(super) fn leave_out(mut self, node: &Node<'_>) -> Self {
        if self.0.remedy.is_none() && node.is_open() {
            self.0.remedy = Some(Remedy::leave_out(node));
        }
        self
    }

    /// What helps is to give the struct an empty member, if that is what it misses.
    pub(super) fn fill(mut self, place: Place) -> Self {
        if let Some(field) = self.0.missing.take()
            && self.0.remedy.is_none()
        {
            self.0.remedy = Some(Remedy::Fill(place, field));
        }
        self
    }

    /// What may help to read an unfinished value.
    pub(in crate::output) fn remedy(&self) -> Option<Remedy> {
        self.0.remedy
    }

    /// Where it is wrong, for example `items[2].qty`.
    pub(in crate::output) fn path(&self) -> String {
        let mut path = String::new();
        for step in self.0.path.iter().rev() {
            match step {
                Step::Member(name) if path.is_empty() => path.push_str(name),
                Step::Member(name) => {
                    path.push('.');
                    path.push_str(name);
                }
                // Writing to a string does not fail.
                Step::Item(index) => write!(path, "[{index}]").unwrap_or_default(),
            }
        }
        path
    }

    /// What is wrong, for example `expected u32, found "many"`.
    pub(in crate::output) fn reason(&self) -> &str {
        &self.0.reason
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.reason)
    }
}

impl std::error::Error for Fault {}

impl Error for Fault {
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
        let mut fault = Self::new(format!("the member `{field}` is missing"));
        fault.0.missing = Some(field);
        fault
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::new(format!("the member `{field}` is given twice"))
    }
}

fn one_of(names: &[&str]) -> String {
    match names {
        [] => "nothing".to_owned(),
        [name] => format!("`{name}`"),
        names => format!("one of `{}`", names.join("`, `")),
    }
}

/// What was found, in few words.
struct Found<'a>(Unexpected<'a>);

impl fmt::Display for Found<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// Characters of a text that are quoted.
        const QUOTED: usize = 60;
        match self.0 {
            Unexpected::Str(text) if text.chars().nth(QUOTED).is_some() => {
                let start: String = text.chars().take(QUOTED).collect();
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
            Unexpected::Other(text) => f.write_str(text.get(..QUOTED).unwrap_or(text)),
            other => write!(f, "{other}"),
        }
    }
}
