//! The quick way: JSON that is as it should be.

use super::shape::Root;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor,
};
use std::fmt;
use std::marker::PhantomData;

/// Reads a value from JSON in which there is nothing to forgive.
pub(super) fn read<T: DeserializeOwned>(text: &str, root: Root) -> Option<T> {
    // A list is no object, even if serde takes it for one.
    if !text.trim_start().starts_with('{') {
        return None;
    }
    let Some(name) = root.member() else { return serde_json::from_str(text).ok() };
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = Wrapped { name, value: PhantomData }.deserialize(&mut deserializer).ok()?;
    deserializer.end().ok()?;
    Some(value)
}

/// A value that is the member `name` of an object, and that must be there.
struct Wrapped<T> {
    name: &'static str,
    value: PhantomData<fn() -> T>,
}

impl<'de, T: DeserializeOwned> DeserializeSeed<'de> for Wrapped<T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, T: DeserializeOwned> Visitor<'de> for Wrapped<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object with the member `{}`", self.name)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<T, A::Error> {
        let mut value = None;
        while let Some(key) = map.next_key::<String>()? {
            if key != self.name {
                map.next_value::<IgnoredAny>()?;
            } else if value.replace(map.next_value()?).is_some() {
                return Err(A::Error::duplicate_field(self.name));
            }
        }
        value.ok_or_else(|| A::Error::missing_field(self.name))
    }
}
