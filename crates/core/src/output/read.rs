//! From the text of an answer to a value.

use super::direct;
use super::find;
use super::json::{Node, Text};
use super::shape::{Root, Shape, Structure};
use super::typed::{self, Fault, Manner};
use super::unreadable::UnreadableAnswer;
use serde::de::{DeserializeOwned, Error};

/// Reads a value of this shape.
pub(super) fn read<T: DeserializeOwned>(text: &str, shape: &Shape) -> Result<T, UnreadableAnswer> {
    let unreadable = |fault: Fault| UnreadableAnswer::new(fault.path(), fault.reason(), text);
    let Some(structure) = shape.structure() else {
        let node = if shape.is_nothing() { Node::Null } else { free_text(text) };
        return typed::read(&node, Manner::default()).map_err(unreadable);
    };
    if structure.is_plain
        && let Some(value) = direct::read(text, structure.root)
    {
        return Ok(value);
    }
    let readings = find::readings(text, structure)
        .map_err(|reason| UnreadableAnswer::new("", reason, text))?;
    let mut first = None;
    for node in &readings {
        match whole(node, structure) {
            Ok(value) => return Ok(value),
            Err(fault) => first = first.or(Some(fault)),
        }
    }
    Err(unreadable(first.unwrap_or_else(|| Fault::custom("the answer is empty"))))
}

/// A text that is taken as it is.
pub(super) fn free_text(text: &str) -> Node<'_> {
    Node::Text(Text { text: text.into(), is_closed: true })
}

/// Reads a value of which nothing is missing: as it stands, else with what can be forgiven.
pub(super) fn whole<T: DeserializeOwned>(
    node: &Node<'_>,
    structure: &Structure,
) -> Result<T, Fault> {
    let exact = Manner::default();
    let lenient = Manner { is_lenient: true, ..exact };
    let forgiving = Manner { skips_nulls: true, ..lenient };
    rooted(node, structure.root, exact).or_else(|_| {
        rooted(node, structure.root, lenient)
            .or_else(|fault| rooted(node, structure.root, forgiving).map_err(|_| fault))
    })
}

/// Reads the value from where it stands in the JSON, with its wrapper or without.
pub(super) fn rooted<'de, T: DeserializeOwned>(
    node: &'de Node<'de>,
    root: Root,
    manner: Manner<'de>,
) -> Result<T, Fault> {
    let Some(name) = root.member() else {
        return match node {
            Node::Object(_) => typed::read(node, manner),
            other => Err(Fault::expected("an object", other)),
        };
    };
    match (node.member(name), node) {
        (Some(member), _) => {
            let fault = match typed::read(member, manner) {
                Ok(value) => return Ok(value),
                Err(fault) => fault.in_member(name),
            };
            // The value itself may have a member of that name, beside others.
            let is_wrapper = matches!(node, Node::Object(object) if object.members.len() == 1);
            match is_wrapper || manner.learned.is_some() {
                true => Err(fault),
                false => typed::read(node, manner).map_err(|_| fault),
            }
        }
        (None, Node::Object(_)) if root == Root::Values || manner.learned.is_some() => {
            Err(Fault::missing_field(name))
        }
        (None, _) => typed::read(node, manner),
    }
}
