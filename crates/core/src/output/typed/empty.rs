//! What stands for a member that has not arrived.

use super::access::Members;
use super::learned::Place;
use super::{Fault, Manner};
use serde::de::{DeserializeSeed, Deserializer, Error, SeqAccess, Visitor};

/// The empty value of a type, if it has one: `""`, `[]`, `{}`, 0, `false`, nothing.
#[derive(Clone, Copy)]
pub(super) struct Empty<'de> {
    pub(super) manner: Manner<'de>,
    pub(super) depth: usize,
}

impl<'de> Empty<'de> {
    pub(super) fn new(manner: Manner<'de>) -> Self {
        Self { manner, depth: 0 }
    }

    /// The same, one level deeper.
    fn deeper(self) -> Result<Self, Fault> {
        /// A type that must contain itself has no value at all.
        const DEEPEST: usize = 32;
        match self.depth {
            DEEPEST.. => none(),
            depth => Ok(Self { depth: depth + 1, ..self }),
        }
    }
}

fn none<T>() -> Result<T, Fault> {
    Err(Fault::custom("not yet there"))
}

/// Methods of types without an empty value.
macro_rules! without_empty_value {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Fault> {
            none()
        }
    )*};
}

/// Methods of numbers.
macro_rules! zero {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
            visitor.visit_u64(0)
        }
    )*};
}

impl<'de> Deserializer<'de> for Empty<'de> {
    type Error = Fault;

    // What is read from a text in one piece, such as a date, has none either.
    without_empty_value! { deserialize_any deserialize_char deserialize_str deserialize_identifier }

    zero! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
        deserialize_f32 deserialize_f64
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_bool(false)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_str("")
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_bytes(b"")
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_bytes(b"")
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_none()
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_unit()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_seq(Repeated { item: self, left: 0 })
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_seq(Repeated { item: self.deeper()?, left: length })
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.deserialize_tuple(length, visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let nowhere = Place::Node(0);
        visitor.visit_map(Members::none(self.manner, nowhere, self.depth))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let Self { manner, depth } = self.deeper()?;
        let place = Place::Struct(fields.as_ptr().addr());
        let members = Members::none(manner, place, depth);
        visitor.visit_map(members).map_err(|fault| fault.fill(place))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Fault> {
        none()
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_unit()
    }
}

/// The same empty item some times.
struct Repeated<'de> {
    item: Empty<'de>,
    left: usize,
}

impl<'de> SeqAccess<'de> for Repeated<'de> {
    type Error = Fault;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Fault> {
        match self.left.checked_sub(1) {
            None => Ok(None),
            Some(left) => {
                self.left = left;
                seed.deserialize(self.item).map(Some)
            }
        }
    }
}
