//! The items of lists, the members of objects, the contents of variants.

use super::empty::Empty;
use super::key::Key;
use super::learned::{Place, address};
use super::{Fault, Manner, Reader};
use crate::output::json::{List, Node, Object};
use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess, VariantAccess, Visitor,
};
use std::borrow::Cow;
use std::slice;

/// The items of a list.
pub(super) struct Items<'de> {
    items: slice::Iter<'de, Node<'de>>,
    manner: Manner<'de>,
    next: usize,
    /// How many items there have to be, if the rest of them has not arrived.
    length: usize,
}

impl<'de> Items<'de> {
    /// The items; a tuple's `length` is made up by empty ones while the list is being written.
    pub(super) fn new(list: &'de List<'de>, manner: Manner<'de>, length: usize) -> Self {
        let is_growing = manner.learned.is_some() && !list.is_closed;
        let length = if is_growing { length } else { 0 };
        Self { items: list.items.iter(), manner, next: 0, length }
    }

    /// How many nobody took.
    pub(super) fn rest(&self) -> usize {
        self.items.len()
    }
}

impl<'de> SeqAccess<'de> for &mut Items<'de> {
    type Error = Fault;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Fault> {
        let index = self.next;
        self.next += 1;
        let manner = self.manner;
        let is_left_out = |node| manner.learned.is_some_and(|learned| learned.leaves_out(node));
        match self.items.next().filter(|node| !is_left_out(node)) {
            Some(node) => match seed.deserialize(Reader { node, manner }) {
                Ok(value) => Ok(Some(value)),
                Err(fault) => Err(fault.in_item(index).leave_out(node)),
            },
            None if index < self.length => seed.deserialize(Empty::new(manner)).map(Some),
            None => Ok(None),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len())
    }
}

/// What the members of an object are.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Struct(&'static [&'static str]),
    Map,
}

impl Kind {
    pub(super) fn place(self, node: &Node<'_>) -> Place {
        match self {
            Self::Struct(fields) => Place::Struct(fields.as_ptr().addr()),
            Self::Map => Place::Node(address(node)),
        }
    }
}

/// The members of an object, and the empty ones that its type misses.
pub(super) struct Members<'de> {
    members: &'de [(Cow<'de, str>, Node<'de>)],
    rest: slice::Iter<'de, (Cow<'de, str>, Node<'de>)>,
    filled: Box<dyn Iterator<Item = &'static str> + 'de>,
    value: Option<(&'de str, Option<&'de Node<'de>>)>,
    manner: Manner<'de>,
    skips_nulls: bool,
    depth: usize,
}

impl<'de> Members<'de> {
    pub(super) fn new(
        object: &'de Object<'de>,
        manner: Manner<'de>,
        kind: Kind,
        place: Place,
    ) -> Self {
        let skips_nulls = manner.skips_nulls && matches!(kind, Kind::Struct(_));
        let is_growing = !object.is_closed;
        let filled = manner.learned.filter(|_| is_growing).map(|learned| learned.fills(place));
        Self {
            members: &object.members,
            rest: object.members.iter(),
            filled: Box::new(filled.into_iter().flatten()),
            value: None,
            manner,
            skips_nulls,
            depth: 0,
        }
    }

    /// The members of a struct of which nothing has arrived.
    pub(super) fn none(manner: Manner<'de>, place: Place, depth: usize) -> Self {
        let filled = manner.learned.map(|learned| learned.fills(place));
        Self {
            members: &[],
            rest: [].iter(),
            filled: Box::new(filled.into_iter().flatten()),
            value: None,
            manner,
            skips_nulls: false,
            depth,
        }
    }

    fn next(&mut self) -> Option<(&'de str, Option<&'de Node<'de>>)> {
        let learned = self.manner.learned;
        for (name, node) in self.rest.by_ref() {
            let is_left_out = learned.is_some_and(|learned| learned.leaves_out(node));
            let is_skipped = self.skips_nulls && *node == Node::Null;
            if !is_left_out && !is_skipped {
                return Some((name, Some(node)));
            }
        }
        let arrived = |field: &str| {
            let is_there = |(name, node): &(Cow<'_, str>, Node<'_>)| {
                name == field && !learned.is_some_and(|learned| learned.leaves_out(node))
            };
            self.members.iter().any(is_there)
        };
        let field = self.filled.by_ref().find(|field| !arrived(field))?;
        Some((field, None))
    }
}

impl<'de> MapAccess<'de> for Members<'de> {
    type Error = Fault;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Fault> {
        let Some((name, node)) = self.next() else { return Ok(None) };
        self.value = Some((name, node));
        let key = Key { name, is_lenient: self.manner.is_lenient };
        seed.deserialize(key).map(Some).map_err(|fault| fault.in_member(name))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Fault> {
        let manner = self.manner;
        match self.value.take() {
            Some((name, Some(node))) => seed
                .deserialize(Reader { node, manner })
                .map_err(|fault| fault.in_member(name).leave_out(node)),
            Some((name, None)) => seed
                .deserialize(Empty { manner, depth: self.depth + 1 })
                .map_err(|fault| fault.in_member(name)),
            None => Err(Fault::custom("a value was asked for before its key")),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

/// A variant of an enum, and what it holds.
pub(super) struct Variant<'n, 'de> {
    pub(super) name: &'n str,
    pub(super) content: Option<&'de Node<'de>>,
    pub(super) manner: Manner<'de>,
}

impl<'de> EnumAccess<'de> for Variant<'_, 'de> {
    type Error = Fault;
    type Variant = Content<'de>;

    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, Content<'de>), Fault> {
        let variant = seed.deserialize(StrDeserializer::<Fault>::new(self.name))?;
        let content = self.content.map(|node| Reader { node, manner: self.manner });
        Ok((variant, Content { content, name: self.name.into() }))
    }
}

/// What a variant holds.
pub(super) struct Content<'de> {
    content: Option<Reader<'de>>,
    name: Box<str>,
}

impl<'de> Content<'de> {
    fn read<T>(self, read: impl FnOnce(Reader<'de>) -> Result<T, Fault>) -> Result<T, Fault> {
        match self.content {
            Some(reader) => read(reader).map_err(|fault| fault.in_member(&self.name)),
            None => Err(Fault::custom(format_args!("`{}` needs a value", self.name))),
        }
    }
}

impl<'de> VariantAccess<'de> for Content<'de> {
    type Error = Fault;

    fn unit_variant(self) -> Result<(), Fault> {
        match self.content.map(|reader| reader.node) {
            None | Some(Node::Null) => Ok(()),
            Some(node) => {
                let found = super::unexpected(node);
                Err(Fault::invalid_type(found, &"null").in_member(&self.name))
            }
        }
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Fault> {
        self.read(|reader| seed.deserialize(reader))
    }

    fn tuple_variant<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, Fault> {
        self.read(|reader| reader.deserialize_tuple(length, visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.read(|reader| reader.deserialize_struct("", fields, visitor))
    }
}
