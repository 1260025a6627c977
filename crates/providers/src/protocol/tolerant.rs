//! Tolerant parsing: values in all forms that servers send, borrowed from the bytes of the answer.

use super::in_place::{InPlace, member};
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::Number;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

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
    /// Removes and returns the thinking.
    pub(crate) fn take_thinking(&mut self) -> Option<Cow<'a, str>> {
        self.other_parts.as_mut()?.thinking.take()
    }

    /// Removes and returns the refusal.
    pub(crate) fn take_refusal(&mut self) -> Option<Cow<'a, str>> {
        self.other_parts.as_mut()?.refusal.take()
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

impl<'de> InPlace<'de> for Text<'de> {
    fn read<D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(ContentVisitor { text: &mut self.0, other_parts: None })
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut text = Text::default();
        text.read(deserializer)?;
        Ok(text)
    }
}

/// Appends `more` to a text.
fn append<'a>(text: &mut Option<Cow<'a, str>>, more: Cow<'a, str>) {
    match text {
        Some(text) => text.to_mut().push_str(&more),
        None => *text = Some(more),
    }
}

/// The names of the members of a part.
enum Member {
    Text,
    Thinking,
    Refusal,
    Other,
}

impl<'de> InPlace<'de> for Content<'de> {
    fn read<D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error> {
        let Self { text, other_parts } = self;
        deserializer.deserialize_any(ContentVisitor { text, other_parts: Some(other_parts) })
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut content = Content::default();
        content.read(deserializer)?;
        Ok(content)
    }
}

/// Appends a content to a text and to other parts, which are ignored if they have no place.
struct ContentVisitor<'p, 'de> {
    text: &'p mut Option<Cow<'de, str>>,
    other_parts: Option<&'p mut Option<Box<OtherParts<'de>>>>,
}

impl<'de> ContentVisitor<'_, 'de> {
    fn append(self, text: impl Into<Cow<'de, str>>) {
        append(self.text, text.into());
    }

    fn reborrow(&mut self) -> ContentVisitor<'_, 'de> {
        ContentVisitor { text: &mut *self.text, other_parts: self.other_parts.as_deref_mut() }
    }
}

impl<'de> DeserializeSeed<'de> for ContentVisitor<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ContentVisitor<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a list of parts")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<(), E> {
        self.append(text);
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.append(text.to_owned());
        Ok(())
    }

    fn visit_string<E>(self, text: String) -> Result<(), E> {
        self.append(text);
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    // Some servers send ids as numbers.
    fn visit_u64<E>(self, number: u64) -> Result<(), E> {
        self.append(number.to_string());
        Ok(())
    }

    fn visit_i64<E>(self, number: i64) -> Result<(), E> {
        self.append(number.to_string());
        Ok(())
    }

    fn visit_f64<E>(self, number: f64) -> Result<(), E> {
        self.append(number.to_string());
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut parts: A) -> Result<(), A::Error> {
        while parts.next_element_seed(self.reborrow())?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut part: A) -> Result<(), A::Error> {
        let find = |name: &str| match name {
            "text" => Member::Text,
            "thinking" => Member::Thinking,
            "refusal" => Member::Refusal,
            _ => Member::Other,
        };
        while let Some(member) = member(&mut part, find)? {
            // The parts of a part are texts.
            let place = match (member, self.other_parts.as_deref_mut()) {
                (Member::Text, _) => Some(&mut *self.text),
                (Member::Thinking, Some(parts)) => {
                    Some(&mut parts.get_or_insert_default().thinking)
                }
                (Member::Refusal, Some(parts)) => Some(&mut parts.get_or_insert_default().refusal),
                _ => None,
            };
            match place {
                Some(text) => part.next_value_seed(ContentVisitor { text, other_parts: None })?,
                None => drop(part.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
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

impl<'de> InPlace<'de> for Index {
    fn read<D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error> {
        *self = Self::deserialize(deserializer)?;
        Ok(())
    }
}

/// Deserializes a count, also in the form `12.0`. Returns `None` for `null` and negative numbers.
pub(crate) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let number = Option::<Number>::deserialize(deserializer)?;
    Ok(number.and_then(|number| {
        let whole = number.as_f64().filter(|count| *count >= 0.0).map(|count| count as u64);
        number.as_u64().or(whole)
    }))
}

/// Reads a [`count`].
impl<'de> InPlace<'de> for Option<u64> {
    fn read<D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error> {
        *self = count(deserializer)?;
        Ok(())
    }
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
