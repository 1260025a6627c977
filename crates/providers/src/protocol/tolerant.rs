//! Tolerant parsing: values in all forms that servers send, borrowed from the bytes of the answer.

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Number;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// The content of a message: a text, a part, or a list of parts. Numbers count as text, `null` and
/// booleans as empty.
///
/// The texts of parts are concatenated. Thinking and refusals are separate from the text.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Content<'a> {
    pub(crate) text: Option<Cow<'a, str>>,
    /// Boxed, because few contents have these parts, and a small value is fast to move.
    other_parts: Option<Box<OtherParts<'a>>>,
}

/// The parts of a content that are not its text.
#[derive(Debug, Default, PartialEq)]
struct OtherParts<'a> {
    thinking: Option<Cow<'a, str>>,
    refusal: Option<Cow<'a, str>>,
}

impl<'a> Content<'a> {
    fn of(text: impl Into<Cow<'a, str>>) -> Self {
        Self { text: Some(text.into()), ..Self::default() }
    }

    /// Removes and returns the thinking.
    pub(crate) fn take_thinking(&mut self) -> Option<Cow<'a, str>> {
        self.other_parts.as_mut()?.thinking.take()
    }

    /// Removes and returns the refusal.
    pub(crate) fn take_refusal(&mut self) -> Option<Cow<'a, str>> {
        self.other_parts.as_mut()?.refusal.take()
    }

    fn append(&mut self, other: Self) {
        append(&mut self.text, other.text);
        if let Some(parts) = other.other_parts {
            let own = self.other_parts.get_or_insert_default();
            append(&mut own.thinking, parts.thinking);
            append(&mut own.refusal, parts.refusal);
        }
    }
}

/// The text of a [`Content`]. Other parts are dropped.
#[derive(Debug, Default)]
pub(crate) struct Text<'a>(pub(crate) Option<Cow<'a, str>>);

impl<'a> Text<'a> {
    /// Returns the text, unless it is empty.
    pub(crate) fn into_some(self) -> Option<Cow<'a, str>> {
        self.0.filter(|text| !text.is_empty())
    }

    /// Returns the text as an owned string.
    pub(crate) fn into_owned(self) -> Option<Box<str>> {
        self.0.map(Into::into)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(Content::deserialize(deserializer)?.text))
    }
}

/// Appends `more` to a text.
fn append<'a>(text: &mut Option<Cow<'a, str>>, more: Option<Cow<'a, str>>) {
    match (text.as_mut(), more) {
        (Some(text), Some(more)) => text.to_mut().push_str(&more),
        (None, more) => *text = more,
        (Some(_), None) => {}
    }
}

/// The names of the members of a part.
#[derive(serde::Deserialize)]
#[serde(rename_all = "lowercase")]
enum Member {
    Text,
    Thinking,
    Refusal,
    #[serde(other)]
    Other,
}

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor)
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = Content<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a list of parts")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Content::of(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Content::of(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Self::Value, E> {
        Ok(Content::of(text))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Content::default())
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Content::default())
    }

    // Some servers send ids as numbers.
    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Content::of(number.to_string()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Content::of(number.to_string()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Content::of(number.to_string()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Self::Value, A::Error> {
        let mut whole = Content::default();
        while let Some(part) = parts.next_element::<Content<'de>>()? {
            whole.append(part);
        }
        Ok(whole)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut part: A) -> Result<Self::Value, A::Error> {
        let mut content = Content::default();
        while let Some(member) = part.next_key()? {
            match member {
                Member::Text => append(&mut content.text, part.next_value::<Content<'_>>()?.text),
                Member::Thinking => {
                    let text = part.next_value::<Text<'_>>()?.0;
                    append(&mut content.other_parts.get_or_insert_default().thinking, text);
                }
                Member::Refusal => {
                    let text = part.next_value::<Text<'_>>()?.0;
                    append(&mut content.other_parts.get_or_insert_default().refusal, text);
                }
                Member::Other => drop(part.next_value::<IgnoredAny>()?),
            }
        }
        Ok(content)
    }
}

/// Returns the text of a JSON string, or the JSON of any other value.
///
/// In most protocols, arguments are a string that contains JSON, but some servers send the object.
pub(crate) fn unquoted(raw: Option<&RawValue>) -> Cow<'_, str> {
    let raw = raw.map_or("", RawValue::get);
    let text = if raw.starts_with('"') { serde_json::from_str::<Text<'_>>(raw).ok() } else { None };
    text.and_then(|text| text.0).unwrap_or(Cow::Borrowed(raw))
}

/// The index of a call or an answer, as a number or as a string. `None` for `null`, negative numbers
/// and other strings.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Index(pub(crate) Option<u64>);

impl<'de> Deserialize<'de> for Index {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Number;

        impl Visitor<'_> for Number {
            type Value = Index;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number")
            }

            fn visit_unit<E>(self) -> Result<Index, E> {
                Ok(Index(None))
            }

            fn visit_u64<E>(self, number: u64) -> Result<Index, E> {
                Ok(Index(Some(number)))
            }

            fn visit_i64<E>(self, _: i64) -> Result<Index, E> {
                Ok(Index(None))
            }

            fn visit_str<E>(self, digits: &str) -> Result<Index, E> {
                Ok(Index(digits.parse().ok()))
            }
        }

        deserializer.deserialize_any(Number)
    }
}

/// Deserializes the first element of a list that may be `null`. Other elements are answers that were not
/// requested.
pub(crate) fn first<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    struct First<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for First<T> {
        type Value = Option<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list")
        }

        fn visit_unit<E>(self) -> Result<Option<T>, E> {
            Ok(None)
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Option<T>, A::Error> {
            let first = list.next_element()?;
            while list.next_element::<IgnoredAny>()?.is_some() {}
            Ok(first)
        }
    }

    deserializer.deserialize_any(First(PhantomData))
}

/// Deserializes a count, also in the form `12.0`. Returns `None` for `null` and negative numbers.
pub(crate) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let number = Option::<Number>::deserialize(deserializer)?;
    Ok(number.and_then(|number| {
        let whole = number.as_f64().filter(|count| *count >= 0.0).map(|count| count as u64);
        number.as_u64().or(whole)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> [Option<String>; 3] {
        let mut content: Content<'_> = serde_json::from_str(json).unwrap();
        let (thinking, refusal) = (content.take_thinking(), content.take_refusal());
        [content.text, thinking, refusal].map(|text| text.map(Cow::into_owned))
    }

    #[test]
    fn text_is_found_in_every_form() {
        let text = |text: &str| [Some(text.to_owned()), None, None];
        assert_eq!(read(r#""a""#), text("a"));
        assert_eq!(read(r#""a\nb""#), text("a\nb"));
        assert_eq!(read("17"), text("17"));
        assert_eq!(read(r#"[{"type":"text","text":"a"},{"type":"x"},"b"]"#), text("ab"));
        assert_eq!(read(r#"{"text":"a","text":"b"}"#), text("ab"));
        for empty in ["null", "true", "[]", "{}", r#"{"a":[1,{"text":"b"}]}"#] {
            assert_eq!(read(empty), [None, None, None], "{empty}");
        }
        let mixed = r#"[{"type":"thinking","thinking":[{"type":"text","text":"a"}]},
            {"type":"refusal","refusal":"b"},{"text":"c"}]"#;
        assert_eq!(read(mixed), ["c", "a", "b"].map(|text| Some(text.to_owned())));
    }

    #[test]
    fn plain_text_is_borrowed() {
        let content: Content<'_> = serde_json::from_str(r#""abc""#).unwrap();
        assert!(matches!(content.text, Some(Cow::Borrowed("abc"))));
    }
}
