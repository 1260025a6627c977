//! Values in all the forms in which servers write them, borrowed from the answer's bytes.

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Number;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// A text, a list of parts, or nothing. What is none of these counts as nothing.
///
/// Parts are concatenated; parts of thinking and refusal are kept apart.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Content<'a> {
    pub(crate) text: Option<Cow<'a, str>>,
    /// Behind a pointer, because hardly any text has them, and small things are moved fast.
    parts: Option<Box<Parts<'a>>>,
}

#[derive(Debug, Default, PartialEq)]
struct Parts<'a> {
    thinking: Option<Cow<'a, str>>,
    refusal: Option<Cow<'a, str>>,
}

impl<'a> Content<'a> {
    fn of(text: impl Into<Cow<'a, str>>) -> Self {
        Self { text: Some(text.into()), ..Self::default() }
    }

    pub(crate) fn take_thinking(&mut self) -> Option<Cow<'a, str>> {
        self.parts.as_mut()?.thinking.take()
    }

    pub(crate) fn take_refusal(&mut self) -> Option<Cow<'a, str>> {
        self.parts.as_mut()?.refusal.take()
    }

    fn append(&mut self, other: Self) {
        append(&mut self.text, other.text);
        if let Some(parts) = other.parts {
            let own = self.parts.get_or_insert_default();
            append(&mut own.thinking, parts.thinking);
            append(&mut own.refusal, parts.refusal);
        }
    }
}

/// A text in any form, of which nothing else is of interest.
#[derive(Debug, Default)]
pub(crate) struct Text<'a>(pub(crate) Option<Cow<'a, str>>);

impl<'a> Text<'a> {
    /// The text unless it is empty.
    pub(crate) fn into_some(self) -> Option<Cow<'a, str>> {
        self.0.filter(|text| !text.is_empty())
    }

    /// The text, owned.
    pub(crate) fn into_owned(self) -> Option<Box<str>> {
        self.0.map(Into::into)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(Content::deserialize(deserializer)?.text))
    }
}

fn append<'a>(text: &mut Option<Cow<'a, str>>, more: Option<Cow<'a, str>>) {
    match (text.as_mut(), more) {
        (Some(text), Some(more)) => text.to_mut().push_str(&more),
        (None, more) => *text = more,
        (Some(_), None) => {}
    }
}

/// The members of a part that matter.
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
        deserializer.deserialize_any(AnyForm)
    }
}

struct AnyForm;

impl<'de> Visitor<'de> for AnyForm {
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

    // Some servers number what should have a text as its id.
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
                    append(&mut content.parts.get_or_insert_default().thinking, text);
                }
                Member::Refusal => {
                    let text = part.next_value::<Text<'_>>()?.0;
                    append(&mut content.parts.get_or_insert_default().refusal, text);
                }
                Member::Other => drop(part.next_value::<IgnoredAny>()?),
            }
        }
        Ok(content)
    }
}

/// Returns a string that contains JSON, or the JSON itself: by most protocols arguments are a string, but
/// some servers send the object.
pub(crate) fn unquoted(raw: Option<&RawValue>) -> Cow<'_, str> {
    let raw = raw.map_or("", RawValue::get);
    let text = if raw.starts_with('"') { serde_json::from_str::<Text<'_>>(raw).ok() } else { None };
    text.and_then(|text| text.0).unwrap_or(Cow::Borrowed(raw))
}

/// The number of a call or of an answer, if the server numbers them; also written as a text.
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

/// The first element of a list that may be `null`. The others are answers that nobody asked for.
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

/// A count, also when it is written as `12.0`; nothing if it is `null` or negative.
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
        for nothing in ["null", "true", "[]", "{}", r#"{"a":[1,{"text":"b"}]}"#] {
            assert_eq!(read(nothing), [None, None, None], "{nothing}");
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
