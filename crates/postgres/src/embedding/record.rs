//! Conversion between entries and the columns of their rows.

use ai_services_core::document::{Metadata, MetadataValue, TextSegment};
use ai_services_core::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt::Write as _;

/// 2^53. From here on every float is an integer, and its shortest decimal text may denote a different one.
const ALL_WHOLE: f64 = 9_007_199_254_740_992.0;

/// Number of characters of a text that are searched. A `tsvector` has at most 1 MB.
const SEARCHED_CHARS: usize = 100_000;

/// The stored form of a segment. It is JSON, because a `text` column cannot contain NUL. Floats are texts,
/// because parsing them with Rust's parser is exact.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record<'a> {
    #[serde(borrow)]
    text: Cow<'a, str>,
    #[serde(borrow)]
    metadata: Vec<(Cow<'a, str>, RecordValue<'a>)>,
}

/// A metadata value in a record.
#[derive(Debug, Serialize, Deserialize)]
enum RecordValue<'a> {
    #[serde(rename = "t", borrow)]
    Text(Cow<'a, str>),
    #[serde(rename = "i")]
    Integer(i64),
    #[serde(rename = "f")]
    Float(String),
    #[serde(rename = "b")]
    Boolean(bool),
}

/// Encodes a segment.
pub(super) fn encode(segment: &TextSegment) -> Result<String> {
    let metadata = segment.metadata().iter().map(|(key, value)| {
        let value = match value {
            MetadataValue::Text(text) => RecordValue::Text(Cow::Borrowed(text)),
            MetadataValue::Integer(number) => RecordValue::Integer(*number),
            MetadataValue::Float(number) => RecordValue::Float(number.to_string()),
            MetadataValue::Boolean(value) => RecordValue::Boolean(*value),
        };
        (Cow::Borrowed(key), value)
    });
    let record = Record { text: Cow::Borrowed(segment.text()), metadata: metadata.collect() };
    serde_json::to_string(&record).map_err(|error| {
        Error::new(ErrorKind::InvalidRequest, "cannot write an entry as JSON").with_source(error)
    })
}

/// Decodes a segment.
pub(super) fn decode(record: &[u8]) -> Result<TextSegment> {
    let record: Record<'_> = serde_json::from_slice(record).map_err(|error| {
        damaged(&format!("a record of the embeddings is malformed: {error}")).with_source(error)
    })?;
    let mut metadata = Metadata::new();
    for (key, value) in record.metadata {
        let value = match value {
            RecordValue::Text(text) => (&*text).into(),
            RecordValue::Integer(number) => number.into(),
            RecordValue::Float(number) => float(&number)?,
            RecordValue::Boolean(value) => value.into(),
        };
        metadata.set(key, value);
    }
    Ok(TextSegment::new(&*record.text).with_metadata(metadata))
}

/// Returns the metadata in the form that filters query: a JSON object whose keys contain the kinds of the
/// values.
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

/// Returns a JSON object with one member. `kind` may differ from the kind of a number, because an integer and
/// a float can be equal.
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
    // Writing to a `String` does not fail, and `Value` can represent every text.
    let _ = write!(json, "{}", serde_json::Value::from(text));
}

/// Returns the name of the member with the values of a kind.
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

/// Returns the decimal text of a number, which the database compares as `numeric`, so that equality and order
/// are those of the values.
///
/// The shortest text of a float denotes a slightly different number, but one with the same order relative to
/// every other float and every integer below 2^53.
pub(super) fn digits(number: &MetadataValue) -> String {
    match number {
        MetadataValue::Float(number) if number.abs() >= ALL_WHOLE => format!("{number:.0}"),
        number => number.to_string(),
    }
}

/// Decodes a value from its text in the searchable metadata.
pub(super) fn value(kind: Option<char>, text: &str) -> Result<MetadataValue> {
    match (kind, text) {
        (Some('t'), text) => Ok((&*unescaped(text)).into()),
        (Some('i'), number) => number
            .parse::<i64>()
            .map(MetadataValue::from)
            .map_err(|_| damaged("an integer in the metadata of the embeddings is malformed")),
        (Some('f'), number) => float(number),
        (Some('b'), "true") => Ok(true.into()),
        (Some('b'), "false") => Ok(false.into()),
        _ => Err(damaged("a value in the metadata of the embeddings has an invalid kind")),
    }
}

/// Escapes NUL, which `jsonb` cannot contain. The order of escaped texts is still that of their code points.
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

/// Returns the searched part of a text. A NUL separates words.
pub(super) fn searched(text: &str) -> Cow<'_, str> {
    let end = text.char_indices().nth(SEARCHED_CHARS).map_or(text.len(), |(end, _)| end);
    let text = text.get(..end).unwrap_or(text);
    if text.contains('\0') { Cow::Owned(text.replace('\0', " ")) } else { Cow::Borrowed(text) }
}

fn float(text: &str) -> Result<MetadataValue> {
    let number = text.parse::<f64>();
    number
        .map(MetadataValue::from)
        .map_err(|_| damaged("a float in the metadata of the embeddings is malformed"))
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
        fn segments_round_trip(
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
        fn searchable_values_round_trip(original in any_value()) {
            let text = match &original {
                MetadataValue::Text(text) => escaped(text).into_owned(),
                MetadataValue::Boolean(value) => value.to_string(),
                number => digits(number),
            };
            prop_assert_eq!(value(Some(kind(&original)), &text).unwrap(), original);
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
    fn long_texts_are_truncated_for_search() {
        let text = "ä".repeat(SEARCHED_CHARS + 5);
        assert_eq!(searched(&text).chars().count(), SEARCHED_CHARS);
        assert_eq!(searched("a\0b"), "a b");
    }
}
