//! Gives a type what it asks for, as far as the JSON can be taken for it.

mod access;
mod empty;
mod fault;
mod key;
mod learned;
mod scalar;

pub(super) use fault::Fault;
pub(super) use learned::Learned;

use super::json::Node;
use access::{Items, Kind, Members, Variant};
use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};
use std::borrow::Cow;

/// How far a type is met.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Manner<'de> {
    /// Whether other spellings of a value are taken for it.
    pub(super) is_lenient: bool,
    /// Whether a member of a struct that is null is taken for one that is not there.
    pub(super) skips_nulls: bool,
    /// What is known of the type, if the JSON is still being written.
    pub(super) learned: Option<&'de Learned>,
}

/// Reads a value of a type.
pub(super) fn read<'de, T: Deserialize<'de>>(
    node: &'de Node<'de>,
    manner: Manner<'de>,
) -> Result<T, Fault> {
    T::deserialize(Reader { node, manner })
}

/// A node that a type is read from.
#[derive(Clone, Copy)]
struct Reader<'de> {
    node: &'de Node<'de>,
    manner: Manner<'de>,
}

impl<'de> Reader<'de> {
    fn wrong<T>(self, visitor: &impl Visitor<'de>) -> Result<T, Fault> {
        Err(Fault::invalid_type(unexpected(self.node), visitor))
    }

    /// Refuses text and structures of which the rest may change what they are.
    fn closed(self) -> Result<Self, Fault> {
        match self.manner.learned {
            Some(_) if self.node.is_open() => Err(Fault::custom("not yet complete")),
            _ => Ok(self),
        }
    }

    fn items<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, Fault> {
        let Node::List(list) = self.node else { return self.wrong(&visitor) };
        let mut items = Items::new(list, self.manner, length);
        let value = visitor.visit_seq(&mut items)?;
        match items.rest() {
            0 => Ok(value),
            _ => Err(Fault::custom(format_args!("too many items: {}", list.items.len()))),
        }
    }

    fn members<V: Visitor<'de>>(self, kind: Kind, visitor: V) -> Result<V::Value, Fault> {
        let Node::Object(object) = self.node else { return self.wrong(&visitor) };
        let place = kind.place(self.node);
        let members = Members::new(object, self.manner, kind, place);
        visitor.visit_map(members).map_err(|fault| match self.manner.learned {
            Some(_) if self.node.is_open() => fault.fill(place),
            _ => fault,
        })
    }
}

/// What a node is, in the words of an error.
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

/// Methods that read an integer and check that it fits.
macro_rules! integers {
    ($($method:ident: $type:ty,)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
            scalar::integer::<$type, V>(self.closed()?, visitor)
        }
    )*};
}

impl<'de> Deserializer<'de> for Reader<'de> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
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

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        scalar::boolean(self.closed()?, visitor)
    }

    integers! {
        deserialize_i8: i8, deserialize_i16: i16, deserialize_i32: i32, deserialize_i64: i64,
        deserialize_u8: u8, deserialize_u16: u16, deserialize_u32: u32, deserialize_u64: u64,
        deserialize_i128: i128, deserialize_u128: u128,
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        scalar::float::<f32, V>(self.closed()?, visitor, |visitor, value| visitor.visit_f32(value))
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        scalar::float::<f64, V>(self.closed()?, visitor, |visitor, value| visitor.visit_f64(value))
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        scalar::text(self.closed()?, visitor)
    }

    // What is not asked for as a `String` is parsed from the text: only the whole of it will do.
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        scalar::text(self.closed()?, visitor)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        scalar::text(self, visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_str(visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.closed()?.node {
            Node::Text(text) => visitor.visit_bytes(text.text.as_bytes()),
            _ => self.items(0, visitor),
        }
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match (self.node, self.manner.learned) {
            (Node::Null, _) => visitor.visit_none(),
            (node, Some(learned)) if learned.leaves_out(node) => visitor.visit_none(),
            (node, Some(_)) => visitor.visit_some(self).map_err(|fault| fault.leave_out(node)),
            (_, None) => visitor.visit_some(self),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.node {
            Node::Null => visitor.visit_unit(),
            _ => self.wrong(&visitor),
        }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.items(0, visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.items(length, visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.items(length, visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.members(Kind::Map, visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match self.node {
            // The members without their names, in order: serde takes that for a struct too.
            Node::List(_) => self.items(0, visitor),
            _ => self.members(Kind::Struct(fields), visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let is_lenient = self.manner.is_lenient;
        let (name, content) = match self.node {
            Node::Object(object) => match object.members.as_slice() {
                [(name, content)] => (Cow::Borrowed(&**name), Some(content)),
                _ => return self.wrong(&visitor),
            },
            Node::Text(text) => (Cow::Borrowed(&*self.closed().map(|_| text)?.text), None),
            Node::Bare(text) => (Cow::Borrowed(scalar::unbracketed(text)), None),
            _ => return self.wrong(&visitor),
        };
        let name = match is_lenient {
            true => scalar::variant(&name, variants).unwrap_or(&name),
            false => &name,
        };
        visitor.visit_enum(Variant { name, content, manner: self.manner })
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_unit()
    }
}
