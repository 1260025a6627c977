//! The fast path: strict JSON, parsed by `serde_json`.

use super::shape::Root;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor,
};
use std::fmt;
use std::marker::PhantomData;

/// Reads a value from strict JSON. Returns `None` for every other text.
pub(super) fn read<T: DeserializeOwned>(text: &str, root: Root) -> Option<T> {
    // Serde would also read a struct from a list.
    if !text.trim_start().starts_with('{') {
        return None;
    }
    let Some(name) = root.member() else { return serde_json::from_str(text).ok() };
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = Wrapped { name, value: PhantomData }.deserialize(&mut deserializer).ok()?;
    deserializer.end().ok()?;
    Some(value)
}

/// A value in the required member `name` of an object.
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
