//! Empty values for members that are missing so far.

use super::hints::HintTarget;
use super::key::Key;
use super::{ReadError, ReadOptions};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// A deserializer that returns the empty value of a type: `""`, `[]`, `{}`, 0, `false`, `None`, `()`.
/// Fails for types without one.
#[derive(Clone, Copy)]
pub(super) struct Empty<'de> {
    options: ReadOptions<'de>,
    depth: usize,
}

impl<'de> Empty<'de> {
    /// Creates the empty value of an item of a list.
    pub(super) fn item(options: ReadOptions<'de>) -> Self {
        Self { options, depth: 0 }
    }

    /// Creates the empty value of a member of an object.
    pub(super) fn member(options: ReadOptions<'de>) -> Self {
        Self { options, depth: 1 }
    }

    /// Returns the deserializer for one level deeper. Fails below the maximum depth.
    fn deeper(self) -> Result<Self, ReadError> {
        /// Maximum nesting depth: a type that must contain itself has no finite value.
        const MAX_DEPTH: usize = 32;
        match self.depth {
            MAX_DEPTH.. => no_empty_value(),
            depth => Ok(Self { depth: depth + 1, ..self }),
        }
    }
}

/// Returns the error of a type without an empty value.
fn no_empty_value<T>() -> Result<T, ReadError> {
    Err(ReadError::custom("the value has not been received yet"))
}

/// Methods of types without an empty value.
macro_rules! without_empty_value {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, _: V) -> Result<V::Value, ReadError> {
            no_empty_value()
        }
    )*};
}

/// Methods of numbers.
macro_rules! zero {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
            visitor.visit_u64(0)
        }
    )*};
}

impl<'de> Deserializer<'de> for Empty<'de> {
    type Error = ReadError;

    // Types that are parsed from a complete text, such as dates, have no empty value either.
    without_empty_value! { deserialize_any deserialize_char deserialize_str deserialize_identifier }

    zero! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
        deserialize_f32 deserialize_f64
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_bool(false)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_str("")
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_bytes(b"")
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_bytes(b"")
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_none()
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        visitor.visit_unit()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_seq(Repeated { item: self, left: 0 })
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        visitor.visit_seq(Repeated { item: self.deeper()?, left: length })
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        self.deserialize_tuple(length, visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        let no_node = HintTarget::Node(0);
        visitor.visit_map(EmptyMembers::new(self, no_node))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        let target = HintTarget::Struct(fields.as_ptr().addr());
        let members = EmptyMembers::new(self.deeper()?, target);
        visitor.visit_map(members).map_err(|error| error.with_fill_hint(target))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, ReadError> {
        no_empty_value()
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_unit()
    }
}

/// A sequence that repeats the same empty item.
struct Repeated<'de> {
    item: Empty<'de>,
    left: usize,
}

impl<'de> SeqAccess<'de> for Repeated<'de> {
    type Error = ReadError;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, ReadError> {
        match self.left.checked_sub(1) {
            None => Ok(None),
            Some(left) => {
                self.left = left;
                seed.deserialize(self.item).map(Some)
            }
        }
    }
}

/// The required members of an object that is entirely missing so far.
struct EmptyMembers<'de> {
    parent: Empty<'de>,
    names: Box<dyn Iterator<Item = &'static str> + 'de>,
    /// The member whose value comes next.
    name: Option<&'static str>,
}

impl<'de> EmptyMembers<'de> {
    fn new(parent: Empty<'de>, target: HintTarget) -> Self {
        let names = parent.options.hints.map(|hints| hints.filled_members(target));
        Self { parent, names: Box::new(names.into_iter().flatten()), name: None }
    }
}

impl<'de> MapAccess<'de> for EmptyMembers<'de> {
    type Error = ReadError;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, ReadError> {
        let Some(name) = self.names.next() else { return Ok(None) };
        self.name = Some(name);
        let key = Key { name, is_lenient: self.parent.options.is_lenient };
        seed.deserialize(key).map(Some).map_err(|error| error.in_member(name))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, ReadError> {
        let Some(name) = self.name.take() else {
            return Err(ReadError::custom("a value was requested before its key"));
        };
        let value = Empty { depth: self.parent.depth + 1, ..self.parent };
        seed.deserialize(value).map_err(|error| error.in_member(name))
    }
}
