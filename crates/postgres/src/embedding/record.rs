//! An entry as the columns of its row.

use ai_services_core::document::{Metadata, MetadataValue, TextSegment};
use ai_services_core::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt::Write as _;

/// From here on every float is a whole number, and its shortest text another one.
const ALL_WHOLE: f64 = 9_007_199_254_740_992.0;

/// How many characters of a text are searched: a `tsvector` holds a megabyte.
const SEARCHED_CHARS: usize = 100_000;

/// What is given back, as JSON: that can hold every text within a `text`. Floats are texts, because the way
/// from a text to a float that Rust knows is the only exact one at hand.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record<'a> {
    #[serde(borrow)]
    text: Cow<'a, str>,
    #[serde(borrow)]
    metadata: Vec<(Cow<'a, str>, Kept<'a>)>,
}

#[derive(Debug, Serialize, Deserialize)]
enum Kept<'a> {
    #[serde(rename = "t", borrow)]
    Text(Cow<'a, str>),
    #[serde(rename = "i")]
    Integer(i64),
    #[serde(rename = "f")]
    Float(String),
    #[serde(rename = "b")]
    Boolean(bool),
}

/// A segment as its record.
pub(super) fn encode(segment: &TextSegment) -> Result<String> {
    let metadata = segment.metadata().iter().map(|(key, value)| {
        let value = match value {
            MetadataValue::Text(text) => Kept::Text(Cow::Borrowed(text)),
            MetadataValue::Integer(number) => Kept::Integer(*number),
            MetadataValue::Float(number) => Kept::Float(number.to_string()),
            MetadataValue::Boolean(value) => Kept::Boolean(*value),
        };
        (Cow::Borrowed(key), value)
    });
    let record = Record { text: Cow::Borrowed(segment.text()), metadata: metadata.collect() };
    serde_json::to_string(&record).map_err(|error| {
        Error::new(ErrorKind::InvalidRequest, "an entry cannot be written as JSON")
            .with_source(error)
    })
}

/// A segment from its record.
pub(super) fn decode(record: &[u8]) -> Result<TextSegment> {
    let record: Record<'_> = serde_json::from_slice(record).map_err(|error| {
        damaged(&format!("a record of the embeddings is no JSON: {error}")).with_source(error)
    })?;
    let mut metadata = Metadata::new();
    for (key, value) in record.metadata {
        let value = match value {
            Kept::Text(text) => (&*text).into(),
            Kept::Integer(number) => number.into(),
            Kept::Float(number) => float(&number)?,
            Kept::Boolean(value) => value.into(),
        };
        metadata.set(key, value);
    }
    Ok(TextSegment::new(&*record.text).with_metadata(metadata))
}

/// The metadata as filters see them: an object whose keys say the kinds of the values.
pub(super) fn searchable(metadata: &Metadata) -> String {
    let mut json = String::from("{");
    for (key, value) in metadata.iter() {
        if json.len() > 1 {
            json.push(',');
        }
        push_member(&mut json, kind(value), key, value);
    }
    json.push('}');
    json
}

/// An object with this one member. Of equal numbers there is a whole one and another one.
pub(super) fn member(kind: char, key: &str, value: &MetadataValue) -> String {
    let mut json = String::from("{");
    push_member(&mut json, kind, key, value);
    json.push('}');
    json
}

fn push_member(json: &mut String, kind: char, key: &str, value: &MetadataValue) {
    push_text(json, &name(kind, key));
    json.push(':');
    match value {
        MetadataValue::Text(text) => push_text(json, &escaped(text)),
        MetadataValue::Boolean(value) => json.push_str(if *value { "true" } else { "false" }),
        number => json.push_str(&digits(number)),
    }
}

fn push_text(json: &mut String, text: &str) {
    // A text is always written; `Value` is what writes it without a failure to hide.
    let _ = write!(json, "{}", serde_json::Value::from(text));
}

/// Under which name the values of a kind are found.
pub(super) fn name(kind: char, key: &str) -> String {
    format!("{kind}{}", escaped(key))
}

pub(super) fn kind(value: &MetadataValue) -> char {
    match value {
        MetadataValue::Text(_) => 't',
        MetadataValue::Integer(_) => 'i',
        MetadataValue::Float(_) => 'f',
        MetadataValue::Boolean(_) => 'b',
    }
}

/// A number as the database compares it: in decimal, so that numbers are in the order of their values
/// and equal if these are.
///
/// The shortest text of a float is another number, but one that lies on the same side of every other
/// float and of every whole number below 2^53.
pub(super) fn digits(number: &MetadataValue) -> String {
    match number {
        MetadataValue::Float(number) if number.abs() >= ALL_WHOLE => format!("{number:.0}"),
        number => number.to_string(),
    }
}

/// A value from its text in the metadata that filters see.
pub(super) fn value(kind: Option<char>, text: &str) -> Result<MetadataValue> {
    match (kind, text) {
        (Some('t'), text) => Ok((&*unescaped(text)).into()),
        (Some('i'), number) => number
            .parse::<i64>()
            .map(MetadataValue::from)
            .map_err(|_| damaged("a whole number in the metadata of the embeddings is none")),
        (Some('f'), number) => float(number),
        (Some('b'), "true") => Ok(true.into()),
        (Some('b'), "false") => Ok(false.into()),
        _ => Err(damaged("a value in the metadata of the embeddings has no kind")),
    }
}

/// A text as `jsonb` can hold it, which has no NUL. What is escaped is still in the order of code points.
pub(super) fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(['\0', '\u{1}']) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace('\u{1}', "\u{1}\u{2}").replace('\0', "\u{1}\u{1}"))
}

fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains('\u{1}') {
        return Cow::Borrowed(text);
    }
    let mut chars = text.chars();
    let next = || {
        let c = chars.next()?;
        Some(if c != '\u{1}' {
            c
        } else if chars.next() == Some('\u{1}') {
            '\0'
        } else {
            '\u{1}'
        })
    };
    Cow::Owned(std::iter::from_fn(next).collect())
}

/// What of a text is searched. A NUL separates words.
pub(super) fn searched(text: &str) -> Cow<'_, str> {
    let end = text.char_indices().nth(SEARCHED_CHARS).map_or(text.len(), |(end, _)| end);
    let text = text.get(..end).unwrap_or(text);
    if text.contains('\0') { Cow::Owned(text.replace('\0', " ")) } else { Cow::Borrowed(text) }
}

fn float(text: &str) -> Result<MetadataValue> {
    let number = text.parse::<f64>();
    number
        .map(MetadataValue::from)
        .map_err(|_| damaged("a float in the metadata of the embeddings is none"))
}

fn damaged(message: &str) -> Error {
    Error::new(ErrorKind::Store, format!("{message}; restore the database, or embed again"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_value() -> impl Strategy<Value = MetadataValue> {
        let float = any::<f64>().prop_filter("finite", |number| number.is_finite());
        prop_oneof![
            any::<String>().prop_map(MetadataValue::from),
            "[\0\u{1}\u{2}a]{0,5}".prop_map(MetadataValue::from),
            any::<i64>().prop_map(MetadataValue::from),
            float.prop_map(MetadataValue::from),
            any::<bool>().prop_map(MetadataValue::from),
        ]
    }

    proptest! {
        #[test]
        fn segments_are_given_back(
            text: String,
            metadata in prop::collection::vec((any::<String>(), any_value()), 0..5),
        ) {
            let metadata: Metadata = metadata.into_iter().collect();
            let segment = TextSegment::new(text).with_metadata(metadata.clone());
            let record = encode(&segment).unwrap();
            prop_assert!(!record.contains('\0'));
            prop_assert_eq!(decode(record.as_bytes()).unwrap(), segment);
            let json = searchable(&metadata);
            prop_assert!(!json.contains("\\u0000"));
            prop_assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok());
        }

        #[test]
        fn escaped_texts_keep_their_order(
            one in "[\0\u{1}\u{2}a]{0,5}",
            other in "[\0\u{1}\u{2}a]{0,5}",
        ) {
            prop_assert_eq!(escaped(&one).cmp(&escaped(&other)), one.cmp(&other));
            let escaped = escaped(&one);
            prop_assert!(!escaped.contains('\0'));
            prop_assert_eq!(&*unescaped(&escaped), &*one);
        }

        #[test]
        fn values_are_read_from_what_filters_see(given in any_value()) {
            let text = match &given {
                MetadataValue::Text(text) => escaped(text).into_owned(),
                MetadataValue::Boolean(value) => value.to_string(),
                number => digits(number),
            };
            prop_assert_eq!(value(Some(kind(&given)), &text).unwrap(), given);
        }
    }

    #[test]
    fn large_floats_are_written_in_full() {
        assert_eq!(digits(&(2.0_f64.powi(63)).into()), "9223372036854775808");
        assert_eq!(digits(&(-2.0_f64.powi(62)).into()), "-4611686018427387904");
        assert_eq!(digits(&0.1.into()), "0.1");
        assert_eq!(digits(&7.0.into()), "7");
    }

    #[test]
    fn long_texts_are_searched_in_part() {
        let text = "ä".repeat(SEARCHED_CHARS + 5);
        assert_eq!(searched(&text).chars().count(), SEARCHED_CHARS);
        assert_eq!(searched("a\0b"), "a b");
    }
}
