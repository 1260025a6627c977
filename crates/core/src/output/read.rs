//! Reads a value from the text of an answer.

use super::direct;
use super::find;
use super::json::{Node, Text};
use super::shape::{Root, Shape, Structure};
use super::typed::{self, ReadError, ReadOptions};
use super::unreadable::UnreadableAnswer;
use serde::de::{DeserializeOwned, Error};

/// Reads a value of this shape.
pub(super) fn read<T: DeserializeOwned>(text: &str, shape: &Shape) -> Result<T, UnreadableAnswer> {
    let unreadable = |error: ReadError| UnreadableAnswer::new(error.path(), error.reason(), text);
    let Some(structure) = shape.structure() else {
        let node = if shape.is_nothing() { Node::Null } else { free_text(text) };
        return typed::read(&node, ReadOptions::default()).map_err(unreadable);
    };
    if structure.is_plain
        && let Some(value) = direct::read(text, structure.root)
    {
        return Ok(value);
    }
    let candidates = find::candidates(text, structure)
        .map_err(|reason| UnreadableAnswer::new("", reason, text))?;
    let mut first = None;
    for node in &candidates {
        match complete(node, structure) {
            Ok(value) => return Ok(value),
            Err(error) => first = first.or(Some(error)),
        }
    }
    Err(unreadable(first.unwrap_or_else(|| ReadError::custom("the answer is empty"))))
}

/// Returns the node of a free text.
pub(super) fn free_text(text: &str) -> Node<'_> {
    Node::Text(Text { text: text.into(), is_closed: true })
}

/// Reads a complete value: first strictly, then leniently.
pub(super) fn complete<T: DeserializeOwned>(
    node: &Node<'_>,
    structure: &Structure,
) -> Result<T, ReadError> {
    in_stages(|options| read_at_root(node, structure.root, options))
}

/// Reads a value strictly, then leniently, then without members that are null.
pub(super) fn in_stages<'de, T>(
    read: impl Fn(ReadOptions<'de>) -> Result<T, ReadError>,
) -> Result<T, ReadError> {
    let exact = ReadOptions::default();
    let lenient = ReadOptions { is_lenient: true, ..exact };
    let forgiving = ReadOptions { skips_nulls: true, ..lenient };
    read(exact).or_else(|_| read(lenient).or_else(|error| read(forgiving).map_err(|_| error)))
}

/// Reads the value from its place in the JSON, with or without its wrapper.
pub(super) fn read_at_root<'de, T: DeserializeOwned>(
    node: &'de Node<'de>,
    root: Root,
    options: ReadOptions<'de>,
) -> Result<T, ReadError> {
    let Some(name) = root.member() else {
        return match node {
            Node::Object(_) => typed::read(node, options),
            other => Err(ReadError::expected("an object", other)),
        };
    };
    match (node.member(name), node) {
        (Some(member), _) => {
            let error = match typed::read(member, options) {
                Ok(value) => return Ok(value),
                Err(error) => error.in_member(name),
            };
            // The value itself can have a member of this name, among others.
            let is_wrapper = matches!(node, Node::Object(object) if object.members.len() == 1);
            if is_wrapper || options.hints.is_some() {
                Err(error)
            } else {
                typed::read(node, options).map_err(|_| error)
            }
        }
        (None, Node::Object(_)) if root == Root::Values || options.hints.is_some() => {
            Err(ReadError::missing_field(name))
        }
        (None, _) => typed::read(node, options),
    }
}
