//! Metadata of texts.

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::sync::Arc;

/// Keys and values that describe a text, in insertion order.
///
/// Setting a key again changes its value and keeps its position. Two metadata are equal if they have
/// the same keys with equal values, in any order. Cloning is cheap. The JSON form is an object.
///
/// # Examples
///
/// ```
/// use ai_services::document::Metadata;
///
/// let metadata = Metadata::new().with("source", "a.md").with("page", 3).with("draft", false);
/// assert_eq!(metadata.get("page").and_then(|page| page.as_integer()), Some(3));
/// assert_eq!(metadata.get("source").map(ToString::to_string).as_deref(), Some("a.md"));
/// ```
#[derive(Clone, Default)]
pub struct Metadata(Option<Arc<Entries>>);

type Entries = Vec<(Box<str>, MetadataValue)>;

/// A value in [`Metadata`].
#[derive(Clone, Debug, PartialEq)]
pub enum MetadataValue {
    /// A text.
    Text(Arc<str>),
    /// A whole number.
    Integer(i64),
    /// A floating-point number. In filters it equals an integer of the same value; as a metadata value it
    /// does not.
    Float(f64),
    /// A boolean.
    Boolean(bool),
}

impl Metadata {
    /// Creates empty metadata.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the metadata with this key set.
    #[must_use]
    pub fn with(mut self, key: impl Into<Box<str>>, value: impl Into<MetadataValue>) -> Self {
        self.set(key, value);
        self
    }

    /// Sets a key. An existing value is replaced.
    pub fn set(&mut self, key: impl Into<Box<str>>, value: impl Into<MetadataValue>) {
        let (key, value) = (key.into(), value.into());
        let entries = Arc::make_mut(self.0.get_or_insert_default());
        match entries.iter_mut().find(|(own, _)| *own == key) {
            Some((_, own)) => *own = value,
            None => entries.push((key, value)),
        }
    }

    /// Returns the value of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&MetadataValue> {
        self.iter().find(|(own, _)| *own == key).map(|(_, value)| value)
    }

    /// Returns all keys with their values, in insertion order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &MetadataValue)> {
        let entries = self.0.as_deref().map(Vec::as_slice).unwrap_or_default();
        entries.iter().map(|(key, value)| (&**key, value))
    }

    /// Returns the number of keys.
    #[must_use]
    pub fn len(&self) -> usize {
        self.iter().len()
    }

    /// Returns `true` if the metadata is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl MetadataValue {
    /// Returns the text if the value is one.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// Returns the whole number if the value is one.
    #[must_use]
    pub fn as_integer(&self) -> Option<i64> {
        if let Self::Integer(number) = self { Some(*number) } else { None }
    }

    /// Returns the number if the value is an integer or a float. Integers are converted to floats.
    #[must_use]
    pub fn as_float(&self) -> Option<f64> {
        match self {
            Self::Float(number) => Some(*number),
            #[allow(clippy::cast_precision_loss, reason = "the caller requests a float")]
            Self::Integer(number) => Some(*number as f64),
            _ => None,
        }
    }

    /// Returns the boolean if the value is one.
    #[must_use]
    pub fn as_boolean(&self) -> Option<bool> {
        if let Self::Boolean(value) = self { Some(*value) } else { None }
    }
}

impl PartialEq for Metadata {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().all(|(key, value)| other.get(key) == Some(value))
    }
}

impl fmt::Debug for Metadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// Writes the value as it is sent to a model: texts without quotes.
impl fmt::Display for MetadataValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Integer(number) => number.fmt(f),
            Self::Float(number) => number.fmt(f),
            Self::Boolean(value) => value.fmt(f),
        }
    }
}

impl<K: Into<Box<str>>, V: Into<MetadataValue>> FromIterator<(K, V)> for Metadata {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        entries.into_iter().fold(Self::new(), |metadata, (key, value)| metadata.with(key, value))
    }
}

macro_rules! from {
    ($($variant:ident: $($from:ty),+;)*) => {$($(
        impl From<$from> for MetadataValue {
            fn from(value: $from) -> Self {
                Self::$variant(value.into())
            }
        }
    )+)*};
}

from! {
    Text: &str, String, Box<str>, Arc<str>;
    Integer: i64, i32, i16, i8, u32, u16, u8;
    Float: f64, f32;
    Boolean: bool;
}

impl Serialize for MetadataValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Integer(number) => serializer.serialize_i64(*number),
            // JSON has no infinite numbers and no NaN.
            Self::Float(number) if !number.is_finite() => {
                Err(serde::ser::Error::custom("a float in metadata is not finite"))
            }
            Self::Float(number) => serializer.serialize_f64(*number),
            Self::Boolean(value) => serializer.serialize_bool(*value),
        }
    }
}

impl<'de> Deserialize<'de> for MetadataValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Value;

        impl Visitor<'_> for Value {
            type Value = MetadataValue;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, a number or a boolean")
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(text.into())
            }

            fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
                Ok(number.into())
            }

            #[allow(clippy::cast_precision_loss, reason = "metadata integers are not that large")]
            fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
                Ok(i64::try_from(number).map_or(MetadataValue::Float(number as f64), Into::into))
            }

            fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
                Ok(number.into())
            }

            fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
                Ok(value.into())
            }
        }

        deserializer.deserialize_any(Value)
    }
}

impl Serialize for Metadata {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for Metadata {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = Metadata;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of texts, numbers and booleans")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Metadata, A::Error> {
                let mut metadata = Metadata::new();
                while let Some((key, value)) = map.next_entry::<Box<str>, MetadataValue>()? {
                    metadata.set(key, value);
                }
                Ok(metadata)
            }
        }

        deserializer.deserialize_map(Object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_that_is_set_again_keeps_its_position() {
        let metadata = Metadata::new().with("a", 1).with("b", 2).with("a", "x");
        let keys: Vec<_> = metadata.iter().map(|(key, _)| key).collect();
        assert_eq!(keys, ["a", "b"]);
        assert_eq!(metadata.get("a"), Some(&"x".into()));
    }

    #[test]
    fn equality_ignores_order_but_not_types() {
        let (ab, ba) =
            (Metadata::new().with("a", 1).with("b", true), Metadata::new().with("b", true));
        assert_eq!(ab, ba.clone().with("a", 1));
        assert_ne!(ab, ba.clone().with("a", 1.0));
        assert_ne!(ab, ba);
    }

    #[test]
    fn json_round_trip_keeps_all_types() {
        let metadata = Metadata::new()
            .with("text", "1")
            .with("integer", i64::MIN)
            .with("float", 1.0)
            .with("boolean", true);
        let json = serde_json::to_string(&metadata).unwrap();
        assert_eq!(
            json,
            r#"{"text":"1","integer":-9223372036854775808,"float":1.0,"boolean":true}"#
        );
        assert_eq!(serde_json::from_str::<Metadata>(&json).unwrap(), metadata);
        assert!(serde_json::to_string(&Metadata::new().with("x", f64::NAN)).is_err());
        assert!(serde_json::from_str::<Metadata>(r#"{"a":[1]}"#).is_err());
    }
}
