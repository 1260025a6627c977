//! Access to the items of lists, the members of objects, and the contents of variants.

use super::empty::Empty;
use super::hints::{HintTarget, address};
use super::key::Key;
use super::{ReadError, ReadOptions, Reader};
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
    options: ReadOptions<'de>,
    next: usize,
    /// Required number of items of an incomplete tuple. Missing items are read as empty values.
    length: usize,
}

impl<'de> Items<'de> {
    /// Creates the access to the items. While the list is incomplete, a tuple of `length` items is padded
    /// with empty values.
    pub(super) fn new(list: &'de List<'de>, options: ReadOptions<'de>, length: usize) -> Self {
        let is_partial = options.hints.is_some() && !list.is_closed;
        let length = if is_partial { length } else { 0 };
        Self { items: list.items.iter(), options, next: 0, length }
    }

    /// Returns the number of unread items.
    pub(super) fn remaining(&self) -> usize {
        self.items.len()
    }
}

impl<'de> SeqAccess<'de> for &mut Items<'de> {
    type Error = ReadError;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, ReadError> {
        let index = self.next;
        self.next += 1;
        let options = self.options;
        let is_omitted = |node| options.hints.is_some_and(|hints| hints.omits(node));
        match self.items.next().filter(|node| !is_omitted(node)) {
            Some(node) => match seed.deserialize(Reader { node, options }) {
                Ok(value) => Ok(Some(value)),
                Err(error) => Err(error.in_item(index).with_omit_hint(node)),
            },
            None if index < self.length => seed.deserialize(Empty::item(options)).map(Some),
            None => Ok(None),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len())
    }
}

/// The type that an object is read as.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Struct(&'static [&'static str]),
    Map,
}

impl Kind {
    pub(super) fn target(self, node: &Node<'_>) -> HintTarget {
        match self {
            Self::Struct(fields) => HintTarget::Struct(fields.as_ptr().addr()),
            Self::Map => HintTarget::Node(address(node)),
        }
    }
}

/// The members of an object, and empty values for required members that are missing so far.
pub(super) struct Members<'de> {
    members: &'de [(Cow<'de, str>, Node<'de>)],
    rest: slice::Iter<'de, (Cow<'de, str>, Node<'de>)>,
    filled: Box<dyn Iterator<Item = &'static str> + 'de>,
    value: Option<(&'de str, Option<&'de Node<'de>>)>,
    options: ReadOptions<'de>,
    skips_nulls: bool,
}

impl<'de> Members<'de> {
    pub(super) fn new(
        object: &'de Object<'de>,
        options: ReadOptions<'de>,
        kind: Kind,
        target: HintTarget,
    ) -> Self {
        let skips_nulls = options.skips_nulls && matches!(kind, Kind::Struct(_));
        let is_partial = !object.is_closed;
        let filled = options.hints.filter(|_| is_partial).map(|hints| hints.filled_members(target));
        Self {
            members: &object.members,
            rest: object.members.iter(),
            filled: Box::new(filled.into_iter().flatten()),
            value: None,
            options,
            skips_nulls,
        }
    }

    fn next(&mut self) -> Option<(&'de str, Option<&'de Node<'de>>)> {
        let hints = self.options.hints;
        for (name, node) in self.rest.by_ref() {
            let is_omitted = hints.is_some_and(|hints| hints.omits(node));
            let is_skipped = self.skips_nulls && *node == Node::Null;
            if !is_omitted && !is_skipped {
                return Some((name, Some(node)));
            }
        }
        let is_present = |field: &str| {
            let is_field = |(name, node): &(Cow<'_, str>, Node<'_>)| {
                name == field && !hints.is_some_and(|hints| hints.omits(node))
            };
            self.members.iter().any(is_field)
        };
        let field = self.filled.by_ref().find(|field| !is_present(field))?;
        Some((field, None))
    }
}

impl<'de> MapAccess<'de> for Members<'de> {
    type Error = ReadError;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, ReadError> {
        let Some((name, node)) = self.next() else { return Ok(None) };
        self.value = Some((name, node));
        let key = Key { name, is_lenient: self.options.is_lenient };
        seed.deserialize(key).map(Some).map_err(|error| error.in_member(name))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, ReadError> {
        let options = self.options;
        match self.value.take() {
            Some((name, Some(node))) => seed
                .deserialize(Reader { node, options })
                .map_err(|error| error.in_member(name).with_omit_hint(node)),
            Some((name, None)) => {
                seed.deserialize(Empty::member(options)).map_err(|error| error.in_member(name))
            }
            None => Err(ReadError::custom("a value was requested before its key")),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

/// A variant of an enum with its content.
pub(super) struct Variant<'n, 'de> {
    pub(super) name: &'n str,
    pub(super) content: Option<&'de Node<'de>>,
    pub(super) options: ReadOptions<'de>,
}

impl<'de> EnumAccess<'de> for Variant<'_, 'de> {
    type Error = ReadError;
    type Variant = Content<'de>;

    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, Content<'de>), ReadError> {
        let variant = seed.deserialize(StrDeserializer::<ReadError>::new(self.name))?;
        let content = self.content.map(|node| Reader { node, options: self.options });
        Ok((variant, Content { content, name: self.name.into() }))
    }
}

/// The content of a variant.
pub(super) struct Content<'de> {
    content: Option<Reader<'de>>,
    name: Box<str>,
}

impl<'de> Content<'de> {
    fn read<T>(
        self,
        read: impl FnOnce(Reader<'de>) -> Result<T, ReadError>,
    ) -> Result<T, ReadError> {
        match self.content {
            Some(reader) => read(reader).map_err(|error| error.in_member(&self.name)),
            None => Err(ReadError::custom(format_args!("`{}` needs a value", self.name))),
        }
    }
}

impl<'de> VariantAccess<'de> for Content<'de> {
    type Error = ReadError;

    fn unit_variant(self) -> Result<(), ReadError> {
        match self.content.map(|reader| reader.node) {
            None | Some(Node::Null) => Ok(()),
            Some(node) => {
                let found = super::unexpected(node);
                Err(ReadError::invalid_type(found, &"null").in_member(&self.name))
            }
        }
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, ReadError> {
        self.read(|reader| seed.deserialize(reader))
    }

    fn tuple_variant<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        self.read(|reader| reader.deserialize_tuple(length, visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        self.read(|reader| reader.deserialize_struct("", fields, visitor))
    }
}
