//! Tolerant parsing of JSON from arbitrary servers: a value of an unexpected type becomes an empty value.

use crate::http::Answer;
use crate::protocol::tolerant::Text;
use ai_services_core::{Error, ErrorKind};
use serde::de::{
    Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor,
    value::MapAccessDeserializer,
};
use serde_json::value::RawValue;
use std::fmt;
use std::marker::PhantomData;

/// The maximum number of elements that are read of a list.
const MAX_ELEMENTS: usize = 1000;

/// A value that is parsed from some JSON types and is empty for all others.
trait TolerantValue<'de>: Default {
    fn of_number(_: f64) -> Self {
        Self::default()
    }

    fn of_text(_: &str) -> Self {
        Self::default()
    }

    fn of_list<A: SeqAccess<'de>>(mut list: A) -> Result<Self, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }

    fn of_object<A: MapAccess<'de>>(mut object: A) -> Result<Self, A::Error> {
        while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }
}

struct TolerantVisitor<V>(PhantomData<V>);

impl<'de, V: TolerantValue<'de>> Visitor<'de> for TolerantVisitor<V> {
    type Value = V;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<V, E> {
        Ok(V::default())
    }

    fn visit_bool<E>(self, _: bool) -> Result<V, E> {
        Ok(V::default())
    }

    fn visit_f64<E>(self, number: f64) -> Result<V, E> {
        Ok(V::of_number(number))
    }

    #[allow(clippy::cast_precision_loss, reason = "a score or an estimate")]
    fn visit_u64<E>(self, number: u64) -> Result<V, E> {
        Ok(V::of_number(number as f64))
    }

    #[allow(clippy::cast_precision_loss, reason = "a score or an estimate")]
    fn visit_i64<E>(self, number: i64) -> Result<V, E> {
        Ok(V::of_number(number as f64))
    }

    fn visit_str<E>(self, text: &str) -> Result<V, E> {
        Ok(V::of_text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<V, A::Error> {
        V::of_list(list)
    }

    fn visit_map<A: MapAccess<'de>>(self, object: A) -> Result<V, A::Error> {
        V::of_object(object)
    }
}

/// A finite number, or a string with one.
#[derive(Default)]
pub(super) struct Number(pub(super) Option<f64>);

impl TolerantValue<'_> for Number {
    fn of_number(number: f64) -> Self {
        Self(Some(number).filter(|number| number.is_finite()))
    }

    fn of_text(text: &str) -> Self {
        text.trim().parse().map_or(Self(None), Self::of_number)
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TolerantVisitor(PhantomData))
    }
}

/// A list, with at most [`MAX_ELEMENTS`] elements.
pub(super) struct List<T>(pub(super) Option<Vec<T>>);

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<'de, T: Deserialize<'de>> TolerantValue<'de> for List<T> {
    fn of_list<A: SeqAccess<'de>>(mut list: A) -> Result<Self, A::Error> {
        let mut elements = Vec::new();
        while elements.len() < MAX_ELEMENTS {
            let Some(element) = list.next_element()? else { return Ok(Self(Some(elements))) };
            elements.push(element);
        }
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Self(Some(elements)))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TolerantVisitor(PhantomData))
    }
}

/// An object.
pub(super) struct Object<T>(pub(super) Option<T>);

impl<T> Default for Object<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<'de, T: Deserialize<'de>> TolerantValue<'de> for Object<T> {
    fn of_object<A: MapAccess<'de>>(object: A) -> Result<Self, A::Error> {
        T::deserialize(MapAccessDeserializer::new(object)).map(|value| Self(Some(value)))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TolerantVisitor(PhantomData))
    }
}

/// Returns a text, or an empty string if it is missing.
pub(super) fn required(text: Text<'_>) -> Box<str> {
    text.into_owned().unwrap_or_default()
}

/// Returns the error for an answer without a list of results: the error that the answer reports, if any.
pub(super) fn without_results(answer: &Answer, reported: Option<&RawValue>) -> Error {
    if reported.is_some() {
        return answer.reported();
    }
    answer.annotate(Error::new(ErrorKind::InvalidResponse, "the answer has no results"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize)]
    struct Point {
        #[serde(default)]
        x: Number,
    }

    fn points(json: &str) -> Option<Vec<Option<Option<f64>>>> {
        let list: List<Object<Point>> = serde_json::from_str(json).unwrap();
        list.0.map(|list| list.into_iter().map(|point| point.0.map(|point| point.x.0)).collect())
    }

    #[test]
    fn unexpected_type_is_an_empty_value() {
        for unexpected in ["null", "true", "1", "-1", "1.5", r#""x""#, r#"{"a":[1]}"#] {
            assert_eq!(points(unexpected), None, "{unexpected}");
        }
        assert_eq!(points("[]"), Some(vec![]));
        let json = r#"[null,7,"x",[[]],{},{"x":1},{"x":"-2.5","y":{}},{"x":"NaN"},{"x":[1]}]"#;
        let [none, empty] = [None, Some(None)];
        let expected =
            vec![none, none, none, none, empty, Some(Some(1.0)), Some(Some(-2.5)), empty, empty];
        assert_eq!(points(json), Some(expected));
    }

    #[test]
    fn long_list_is_parsed_to_its_end_but_truncated() {
        let json = format!("[{}1]", "{},".repeat(5000));
        assert_eq!(points(&json).unwrap().len(), MAX_ELEMENTS);
        assert!(serde_json::from_str::<List<Number>>(&format!("[{}", "1,".repeat(2000))).is_err());
    }
}
