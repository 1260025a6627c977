//! JSON objects whose members stay unparsed.

use super::tolerant::Text;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// The members of an object in their order, as raw JSON.
#[derive(Default)]
pub(crate) struct RawObject<'a>(pub(crate) Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> RawObject<'a> {
    /// Splits an object into its members.
    pub(crate) fn of(object: &'a RawValue) -> Result<Self, serde_json::Error> {
        serde_json::from_str(object.get())
    }

    /// Returns a member.
    pub(crate) fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.0.iter().find(|(own, _)| own == name).map(|(_, value)| *value)
    }

    /// Returns a member that is a string; empty if there is none.
    pub(crate) fn text(&self, name: &str) -> Cow<'a, str> {
        let text = self.get(name).and_then(|raw| serde_json::from_str::<Text<'a>>(raw.get()).ok());
        text.and_then(|text| text.0).unwrap_or_default()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for RawObject<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = RawObject<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = RawObject::default();
                while let Some((name, value)) = map.next_entry::<Text<'de>, &RawValue>()? {
                    fields.0.push((name.0.unwrap_or_default(), value));
                }
                Ok(fields)
            }
        }

        deserializer.deserialize_map(Object)
    }
}
