//! From the text of an answer to a value.

use super::shape::{Root, Shape, Structure};
use super::unreadable::UnreadableAnswer;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde::de::value::{StrDeserializer, UnitDeserializer};

/// Reads a value of this shape.
pub(super) fn read<T: DeserializeOwned>(text: &str, shape: &Shape) -> Result<T, UnreadableAnswer> {
    let unreadable = |error: serde_json::Error| UnreadableAnswer::new("", error.to_string(), text);
    let Some(structure) = shape.structure() else {
        let value = match shape.is_nothing() {
            true => T::deserialize(UnitDeserializer::<serde_json::Error>::new()),
            false => T::deserialize(StrDeserializer::<serde_json::Error>::new(text)),
        };
        return value.map_err(unreadable);
    };
    whole(text, structure).map_err(unreadable)
}

fn whole<T: DeserializeOwned>(text: &str, structure: &Structure) -> serde_json::Result<T> {
    #[derive(Deserialize)]
    struct Value<T> {
        value: T,
    }

    #[derive(Deserialize)]
    struct Values<T> {
        values: T,
    }

    match structure.root {
        Root::Whole => serde_json::from_str(text),
        Root::Value => serde_json::from_str(text).map(|Value { value }| value),
        Root::Values => serde_json::from_str(text).map(|Values { values }| values),
    }
}
