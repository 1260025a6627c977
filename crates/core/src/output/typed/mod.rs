//! A lenient serde `Deserializer`: converts values only if the conversion is unambiguous.

mod access;
mod empty;
mod error;
mod hints;
mod key;
mod scalar;

pub(super) use error::ReadError;
pub(super) use hints::Hints;

use super::json::Node;
use access::{Items, Kind, Members, Variant};
use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};
use std::borrow::Cow;

/// Options for reading a value.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReadOptions<'de> {
    /// `true` if other notations of a value are accepted.
    pub(super) is_lenient: bool,
    /// `true` if a member of a struct that is null is treated as missing.
    pub(super) skips_nulls: bool,
    /// The hints so far, if the JSON is incomplete.
    pub(super) hints: Option<&'de Hints>,
}

/// Reads a value of a type.
pub(super) fn read<'de, T: Deserialize<'de>>(
    node: &'de Node<'de>,
    options: ReadOptions<'de>,
) -> Result<T, ReadError> {
    T::deserialize(Reader { node, options })
}

/// A deserializer for a node.
#[derive(Clone, Copy)]
struct Reader<'de> {
    node: &'de Node<'de>,
    options: ReadOptions<'de>,
}

impl<'de> Reader<'de> {
    /// Returns the error of a node of the wrong type.
    fn wrong_type<T>(self, visitor: &impl Visitor<'de>) -> Result<T, ReadError> {
        Err(ReadError::invalid_type(unexpected(self.node), visitor))
    }

    /// Fails if the node is incomplete and the rest can change its value.
    fn closed(self) -> Result<Self, ReadError> {
        match self.options.hints {
            Some(_) if self.node.is_open() => Err(ReadError::custom("the value is incomplete")),
            _ => Ok(self),
        }
    }

    fn items<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, ReadError> {
        let Node::List(list) = self.node else { return self.wrong_type(&visitor) };
        let mut items = Items::new(list, self.options, length);
        let value = visitor.visit_seq(&mut items)?;
        match items.remaining() {
            0 => Ok(value),
            _ => Err(ReadError::custom(format_args!("too many items: {}", list.items.len()))),
        }
    }

    fn members<V: Visitor<'de>>(self, kind: Kind, visitor: V) -> Result<V::Value, ReadError> {
        let Node::Object(object) = self.node else { return self.wrong_type(&visitor) };
        let target = kind.target(self.node);
        let members = Members::new(object, self.options, kind, target);
        visitor.visit_map(members).map_err(|error| match self.options.hints {
            Some(_) if self.node.is_open() => error.with_fill_hint(target),
            _ => error,
        })
    }
}

/// Describes a node for an error.
fn unexpected<'n>(node: &'n Node<'_>) -> Unexpected<'n> {
    match node {
        Node::Null => Unexpected::Unit,
        Node::Bool(value) => Unexpected::Bool(*value),
        Node::Number(text) => Unexpected::Other(text),
        Node::Text(text) => Unexpected::Str(&text.text),
        Node::List(_) => Unexpected::Seq,
        Node::Object(_) => Unexpected::Map,
        Node::Bare(text) => Unexpected::Str(text),
    }
}

/// Generates methods that read an integer and check its range.
macro_rules! integers {
    ($($method:ident: $type:ty,)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
            scalar::integer::<$type, V>(self.closed()?, visitor)
        }
    )*};
}

impl<'de> Deserializer<'de> for Reader<'de> {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        let reader = self.closed()?;
        match reader.node {
            Node::Null => visitor.visit_unit(),
            Node::Bool(value) => visitor.visit_bool(*value),
            Node::Number(text) => scalar::number(text, reader, visitor),
            Node::Text(text) => visitor.visit_borrowed_str(&text.text),
            Node::List(_) => reader.items(0, visitor),
            Node::Object(_) => reader.members(Kind::Map, visitor),
            Node::Bare(text) => visitor.visit_borrowed_str(text),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        scalar::boolean(self.closed()?, visitor)
    }

    integers! {
        deserialize_i8: i8, deserialize_i16: i16, deserialize_i32: i32, deserialize_i64: i64,
        deserialize_u8: u8, deserialize_u16: u16, deserialize_u32: u32, deserialize_u64: u64,
        deserialize_i128: i128, deserialize_u128: u128,
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        scalar::float::<f32, V>(self.closed()?, visitor, |visitor, value| visitor.visit_f32(value))
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        scalar::float::<f64, V>(self.closed()?, visitor, |visitor, value| visitor.visit_f64(value))
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        scalar::text(self.closed()?, visitor)
    }

    // Types that request a `&str` parse it, so the text must be complete. Only a `String` can be partial.
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        scalar::text(self.closed()?, visitor)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        scalar::text(self, visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.closed()?.node {
            Node::Text(text) => visitor.visit_bytes(text.text.as_bytes()),
            _ => self.items(0, visitor),
        }
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match (self.node, self.options.hints) {
            (Node::Null, _) => visitor.visit_none(),
            (node, Some(hints)) if hints.omits(node) => visitor.visit_none(),
            (node, Some(_)) => visitor.visit_some(self).map_err(|error| error.with_omit_hint(node)),
            (_, None) => visitor.visit_some(self),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.node {
            Node::Null => visitor.visit_unit(),
            _ => self.wrong_type(&visitor),
        }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.items(0, visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        self.items(length, visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        self.items(length, visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.members(Kind::Map, visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        match self.node {
            // Serde also reads a struct from a list of its members without names.
            Node::List(_) => self.items(0, visitor),
            _ => self.members(Kind::Struct(fields), visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        let is_lenient = self.options.is_lenient;
        let (name, content) = match self.node {
            Node::Object(object) => match object.members.as_slice() {
                [(name, content)] => (Cow::Borrowed(&**name), Some(content)),
                _ => return self.wrong_type(&visitor),
            },
            Node::Text(text) => (Cow::Borrowed(&*self.closed().map(|_| text)?.text), None),
            Node::Bare(text) => (Cow::Borrowed(scalar::unbracketed(text)), None),
            _ => return self.wrong_type(&visitor),
        };
        let name =
            if is_lenient { scalar::variant(&name, variants).unwrap_or(&name) } else { &name };
        visitor.visit_enum(Variant { name, content, options: self.options })
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_unit()
    }
}
