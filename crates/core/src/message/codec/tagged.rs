//! Objects with a `type`, read in one pass.
//!
//! The derived reader of an enum with a `tag` collects all fields before it selects the variant, and then reads
//! them a second time. Here the fields are read directly once the `type` is known. Fields before the `type` are
//! collected; everything that this crate writes begins with the `type`.

use super::text::WireText;
use serde::de::value::{CowStrDeserializer, MapAccessDeserializer};
use serde::de::{DeserializeSeed, Error, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use std::fmt;
use std::marker::PhantomData;
use std::vec;

const TAG: &str = "type";

/// A type whose JSON is an object with a `type`, which determines the other fields.
pub(super) trait Tagged<'de>: Sized {
    /// The values of `type`.
    type Tag: Deserialize<'de>;

    /// Reads the other fields.
    fn read<D: Deserializer<'de>>(tag: Self::Tag, fields: D) -> Result<Self, D::Error>;
}

/// Reads an object with a `type`.
pub(super) fn deserialize<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: Tagged<'de>,
    D: Deserializer<'de>,
{
    deserializer.deserialize_map(TaggedVisitor(PhantomData))
}

struct TaggedVisitor<T>(PhantomData<T>);

impl<'de, T: Tagged<'de>> Visitor<'de> for TaggedVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with a `type`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<T, A::Error> {
        let mut before = Vec::new();
        while let Some(key) = map.next_key::<WireText<'de>>()? {
            if key.0 == TAG {
                let tag = map.next_value()?;
                let fields = Fields { before: before.into_iter(), value: None, rest: map };
                return T::read(tag, MapAccessDeserializer::new(fields));
            }
            before.push((key.0.into_owned(), map.next_value()?));
        }
        Err(A::Error::missing_field(TAG))
    }
}

/// The fields before the `type`, then the fields behind it.
struct Fields<A> {
    before: vec::IntoIter<(String, Value)>,
    /// The value of the last key, if that was before the `type`.
    value: Option<Value>,
    rest: A,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Fields<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        if let Some((key, value)) = self.before.next() {
            self.value = Some(value);
            return seed.deserialize(key.into_deserializer()).map(Some);
        }
        match self.rest.next_key::<WireText<'de>>()? {
            Some(key) if key.0 == TAG => Err(A::Error::duplicate_field(TAG)),
            Some(key) => seed.deserialize(CowStrDeserializer::new(key.0)).map(Some),
            None => Ok(None),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        match self.value.take() {
            Some(value) => seed.deserialize(value).map_err(A::Error::custom),
            None => self.rest.next_value_seed(seed),
        }
    }
}
