//! JSON as a model wrote it: members in their order, numbers as text, possibly incomplete.

mod number;
mod parse;
mod string;
mod syntax_error;
#[cfg(test)]
mod tests;

pub(super) use number::{float, integer, is_decimal};
pub(super) use parse::{parse_complete, parse_partial, parse_prefix};
pub(super) use syntax_error::SyntaxError;

use super::steps;
use std::borrow::Cow;
use std::collections::HashSet;

/// A piece of JSON.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node<'a> {
    Null,
    Bool(bool),
    /// The number as it was written.
    Number(Cow<'a, str>),
    Text(Text<'a>),
    List(List<'a>),
    Object(Object<'a>),
    /// Text that is not JSON, for a type that is a single value.
    Bare(Cow<'a, str>),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Text<'a> {
    pub(super) text: Cow<'a, str>,
    pub(super) is_closed: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct List<'a> {
    pub(super) items: Vec<Node<'a>>,
    pub(super) is_closed: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Object<'a> {
    pub(super) members: Vec<(Cow<'a, str>, Node<'a>)>,
    pub(super) is_closed: bool,
}

impl<'a> Node<'a> {
    /// Returns `true` if the node is incomplete.
    pub(super) fn is_open(&self) -> bool {
        match self {
            Self::Text(text) => !text.is_closed,
            Self::List(list) => !list.is_closed,
            Self::Object(object) => !object.is_closed,
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::Bare(_) => false,
        }
    }

    /// Returns the node with copies of its texts.
    pub(super) fn into_owned(self) -> Node<'static> {
        let owned = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        match self {
            Self::Null => Node::Null,
            Self::Bool(value) => Node::Bool(value),
            Self::Number(text) => Node::Number(owned(text)),
            Self::Text(Text { text, is_closed }) => {
                Node::Text(Text { text: owned(text), is_closed })
            }
            Self::List(List { items, is_closed }) => {
                let items = items.into_iter().map(Self::into_owned).collect();
                Node::List(List { items, is_closed })
            }
            Self::Object(Object { members, is_closed }) => {
                let members =
                    members.into_iter().map(|(name, node)| (owned(name), node.into_owned()));
                Node::Object(Object { members: members.collect(), is_closed })
            }
            Self::Bare(text) => Node::Bare(owned(text)),
        }
    }

    /// Returns the member of an object.
    pub(super) fn member(&self, name: &str) -> Option<&Self> {
        let Self::Object(object) = self else { return None };
        object.members.iter().find(|(own, _)| own == name).map(|(_, node)| node)
    }
}

impl Object<'_> {
    /// Returns the first duplicate key.
    fn duplicate_key(&self) -> Option<&str> {
        /// Up to this number of members, comparing all pairs is faster than a hash set.
        const MAX_PAIRWISE: usize = 8;
        steps::add(self.members.len());
        let keys = || self.members.iter().map(|(key, _)| &**key);
        if self.members.len() <= MAX_PAIRWISE {
            return keys().enumerate().find_map(|(index, key)| {
                keys().take(index).any(|earlier| earlier == key).then_some(key)
            });
        }
        let mut seen = HashSet::with_capacity(self.members.len());
        keys().find(|key| !seen.insert(*key))
    }
}
