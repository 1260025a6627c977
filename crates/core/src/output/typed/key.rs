//! Keys of objects. In JSON they are texts, also for other key types.

use super::{ReadError, scalar};
use crate::output::json::{self, Node};
use serde::de::value::StrDeserializer;
use serde::de::{Deserializer, Error, IntoDeserializer, Unexpected, Visitor};

/// A deserializer for the key of an object.
pub(super) struct Key<'de> {
    pub(super) name: &'de str,
    pub(super) is_lenient: bool,
}

/// Generates methods that read a number from the text of the key.
macro_rules! numbers {
    ($($method:ident: $type:ty => $visit:ident,)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
            let is_json = matches!(json::parse_complete(self.name), Ok(Node::Number(_)));
            match self.name.parse::<$type>() {
                Ok(number) if is_json => visitor.$visit(number),
                _ => Err(ReadError::invalid_value(Unexpected::Str(self.name), &visitor)),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for Key<'de> {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_borrowed_str(self.name)
    }

    numbers! {
        deserialize_i8: i8 => visit_i8, deserialize_i16: i16 => visit_i16,
        deserialize_i32: i32 => visit_i32, deserialize_i64: i64 => visit_i64,
        deserialize_u8: u8 => visit_u8, deserialize_u16: u16 => visit_u16,
        deserialize_u32: u32 => visit_u32, deserialize_u64: u64 => visit_u64,
        deserialize_i128: i128 => visit_i128, deserialize_u128: u128 => visit_u128,
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.name {
            "true" => visitor.visit_bool(true),
            "false" => visitor.visit_bool(false),
            other => Err(ReadError::invalid_type(Unexpected::Str(other), &visitor)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        let alike = if self.is_lenient { scalar::variant(self.name, variants) } else { None };
        let name: StrDeserializer<'_, ReadError> = alike.unwrap_or(self.name).into_deserializer();
        visitor.visit_enum(name)
    }

    serde::forward_to_deserialize_any! {
        f32 f64 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct
        identifier ignored_any
    }
}
