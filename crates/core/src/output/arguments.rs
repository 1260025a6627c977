//! The arguments of a tool call: an object whose members are read one at a time, by the rules of answers.

use super::json::{self, Node, Object, SyntaxError, Text};
use super::read::in_stages;
use super::typed;
use serde::de::{DeserializeOwned, IgnoredAny};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The members of a JSON object, parsed once.
#[derive(Debug, Default)]
pub(crate) struct Arguments<'a>(Vec<(Cow<'a, str>, Node<'a>)>);

impl<'a> Arguments<'a> {
    /// Parses a JSON object. Blank text and `null` are read as an empty object. Trailing commas and an object
    /// inside a JSON string are accepted.
    ///
    /// # Errors
    ///
    /// Returns the mistake.
    pub(crate) fn parse(text: &'a str) -> Result<Self, String> {
        let node = match json::parse_complete(text) {
            Ok(Node::Text(Text { text: inner, .. })) => {
                json::parse_complete(&inner).map(Node::into_owned)
            }
            Ok(Node::Null) => return Ok(Self::default()),
            Err(_) if text.trim().is_empty() => return Ok(Self::default()),
            node => node,
        };
        match node {
            Ok(Node::Object(Object { members, .. })) => Ok(Self(members)),
            Ok(_) => Err(not_an_object(text, "")),
            Err(SyntaxError::DuplicateKey { path, key }) if path.is_empty() => {
                Err(format!("duplicate argument `{key}`"))
            }
            Err(SyntaxError::DuplicateKey { path, key }) => {
                Err(format!("{path}: duplicate key `{key}`"))
            }
            Err(error) => Err(not_an_object(text, &error.explain(text))),
        }
    }

    /// Returns the argument `name`. `None` if it is missing.
    pub(crate) fn get(&self, name: &str) -> Option<Argument<'_, 'a>> {
        let (name, node) = self.0.iter().find(|(own, _)| own == name)?;
        Some(Argument { name, node })
    }
}

/// One argument.
pub(crate) struct Argument<'m, 'a> {
    name: &'m str,
    node: &'m Node<'a>,
}

impl Argument<'_, '_> {
    pub(crate) fn is_null(&self) -> bool {
        *self.node == Node::Null
    }

    /// Reads the value.
    ///
    /// # Errors
    ///
    /// Returns the path of the wrong value and the mistake, for example `items[2].qty: expected u32, found "x"`.
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Result<T, String> {
        in_stages(|options| typed::read(self.node, options)).map_err(|error| {
            let error = error.in_member(self.name);
            format!("{}: {}", error.path(), error.reason())
        })
    }
}

/// Explains the mistake in the words of `serde_json`, unless it accepts the text.
fn not_an_object(text: &str, reason: &str) -> String {
    let strict = serde_json::from_str::<BTreeMap<String, IgnoredAny>>(text);
    let reason = strict.map_or_else(|error| error.to_string(), |_| reason.to_owned());
    format!("the arguments are not a JSON object: {reason}")
}
