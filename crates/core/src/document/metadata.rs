//! What is known about a text beside the text.

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::sync::Arc;

/// Keys and values that describe a text, in the order in which they were set.
///
/// A key is set once: setting it again changes its value and keeps its place. Two metadata are equal if they
/// have the same keys with equal values, in any order. Cloning is cheap. As JSON they are an object.
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
    /// A number with a fraction. It is equal to an integer of the same value in filters, but not as a
    /// value of metadata.
    Float(f64),
    /// Yes or no.
    Boolean(bool),
}

impl Metadata {
    /// No metadata.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The same metadata with this key set.
    #[must_use]
    pub fn with(mut self, key: impl Into<Box<str>>, value: impl Into<MetadataValue>) -> Self {
        self.set(key, value);
        self
    }

    /// Sets a key.
    pub fn set(&mut self, key: impl Into<Box<str>>, value: impl Into<MetadataValue>) {
        let (key, value) = (key.into(), value.into());
        let entries = Arc::make_mut(self.0.get_or_insert_default());
        match entries.iter_mut().find(|(own, _)| *own == key) {
            Some((_, own)) => *own = value,
            None => entries.push((key, value)),
        }
    }

    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&MetadataValue> {
        self.iter().find(|(own, _)| *own == key).map(|(_, value)| value)
    }

    /// All keys with their values, in the order in which they were set.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &MetadataValue)> {
        let entries = self.0.as_deref().map(Vec::as_slice).unwrap_or_default();
        entries.iter().map(|(key, value)| (&**key, value))
    }

    /// How many keys there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.iter().len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl MetadataValue {
    /// The text, if it is one.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// The whole number, if it is one.
    #[must_use]
    pub fn as_integer(&self) -> Option<i64> {
        if let Self::Integer(number) = self { Some(*number) } else { None }
    }

    /// The number, if it is one, whole or not.
    #[must_use]
    pub fn as_float(&self) -> Option<f64> {
        match self {
            Self::Float(number) => Some(*number),
            #[allow(clippy::cast_precision_loss, reason = "a float is asked for")]
            Self::Integer(number) => Some(*number as f64),
            _ => None,
        }
    }

    /// Yes or no, if it is one of them.
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

/// As a model is shown it: texts without quotes.
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
            // JSON has no other numbers; a float that is no number is no value either.
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

            #[allow(clippy::cast_precision_loss, reason = "no integer of ours is as large")]
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
    fn key_that_is_set_again_keeps_its_place() {
        let metadata = Metadata::new().with("a", 1).with("b", 2).with("a", "x");
        let keys: Vec<_> = metadata.iter().map(|(key, _)| key).collect();
        assert_eq!(keys, ["a", "b"]);
        assert_eq!(metadata.get("a"), Some(&"x".into()));
    }

    #[test]
    fn order_makes_no_difference_and_kinds_do() {
        let (ab, ba) =
            (Metadata::new().with("a", 1).with("b", true), Metadata::new().with("b", true));
        assert_eq!(ab, ba.clone().with("a", 1));
        assert_ne!(ab, ba.clone().with("a", 1.0));
        assert_ne!(ab, ba);
    }

    #[test]
    fn json_keeps_every_kind_apart() {
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
