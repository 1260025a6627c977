//! Serialization of the results of tools: a text is taken unchanged, any other value becomes JSON.

use crate::error::BoxError;
use serde::{Serialize, Serializer};

type Json = serde_json::Serializer<Vec<u8>>;
type Error = serde_json::Error;

/// Returns the text of a value that serializes to a text, and the JSON of any other value.
///
/// # Errors
///
/// Fails if the value cannot be serialized.
pub(super) fn text_or_json<T: Serialize + ?Sized>(value: &T) -> Result<Box<str>, BoxError> {
    let mut json = serde_json::Serializer::new(Vec::new());
    let mut text = None;
    value.serialize(TextOrJson { json: &mut json, text: &mut text })?;
    match text {
        Some(text) => Ok(text),
        None => Ok(String::from_utf8(json.into_inner())?.into()),
    }
}

/// A serializer that keeps a text as it is, and passes on any other value.
struct TextOrJson<'a> {
    json: &'a mut Json,
    text: &'a mut Option<Box<str>>,
}

/// Generates methods that pass on a value.
macro_rules! pass_on {
    ($($method:ident: $type:ty,)*) => {$(
        fn $method(self, value: $type) -> Result<(), Error> {
            self.json.$method(value)
        }
    )*};
}

impl<'a> Serializer for TextOrJson<'a> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = <&'a mut Json as Serializer>::SerializeSeq;
    type SerializeTuple = <&'a mut Json as Serializer>::SerializeTuple;
    type SerializeTupleStruct = <&'a mut Json as Serializer>::SerializeTupleStruct;
    type SerializeTupleVariant = <&'a mut Json as Serializer>::SerializeTupleVariant;
    type SerializeMap = <&'a mut Json as Serializer>::SerializeMap;
    type SerializeStruct = <&'a mut Json as Serializer>::SerializeStruct;
    type SerializeStructVariant = <&'a mut Json as Serializer>::SerializeStructVariant;

    fn serialize_str(self, value: &str) -> Result<(), Error> {
        *self.text = Some(value.into());
        Ok(())
    }

    fn serialize_char(self, value: char) -> Result<(), Error> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<(), Error> {
        self.serialize_str(variant)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        value.serialize(self)
    }

    pass_on! {
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32,
        serialize_i64: i64, serialize_i128: i128, serialize_u8: u8, serialize_u16: u16,
        serialize_u32: u32, serialize_u64: u64, serialize_u128: u128, serialize_f32: f32,
        serialize_f64: f64, serialize_bytes: &[u8], serialize_unit_struct: &'static str,
    }

    fn serialize_none(self) -> Result<(), Error> {
        self.json.serialize_none()
    }

    fn serialize_unit(self) -> Result<(), Error> {
        self.json.serialize_unit()
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        self.json.serialize_newtype_variant(name, index, variant, value)
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<Self::SerializeSeq, Error> {
        self.json.serialize_seq(length)
    }

    fn serialize_tuple(self, length: usize) -> Result<Self::SerializeTuple, Error> {
        self.json.serialize_tuple(length)
    }

    fn serialize_tuple_struct(
        self,
        name: &'static str,
        length: usize,
    ) -> Result<Self::SerializeTupleStruct, Error> {
        self.json.serialize_tuple_struct(name, length)
    }

    fn serialize_tuple_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Self::SerializeTupleVariant, Error> {
        self.json.serialize_tuple_variant(name, index, variant, length)
    }

    fn serialize_map(self, length: Option<usize>) -> Result<Self::SerializeMap, Error> {
        self.json.serialize_map(length)
    }

    fn serialize_struct(
        self,
        name: &'static str,
        length: usize,
    ) -> Result<Self::SerializeStruct, Error> {
        self.json.serialize_struct(name, length)
    }

    fn serialize_struct_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Self::SerializeStructVariant, Error> {
        self.json.serialize_struct_variant(name, index, variant, length)
    }
}
