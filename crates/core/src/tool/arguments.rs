//! Typed arguments of tool calls.

use super::error::{FailureKind, ToolError};
use schemars::JsonSchema;
use serde::de::{DeserializeOwned, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

/// The type of a tool parameter: any type that implements `Deserialize` and `JsonSchema`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a tool parameter",
    label = "not `Deserialize` and `JsonSchema`",
    note = "derive `serde::Deserialize` and `schemars::JsonSchema`",
    note = "a value that the application passes along, not the model, is marked `#[memory_id]` or `#[context]`"
)]
pub trait ToolParameter: DeserializeOwned + JsonSchema + Send {}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + JsonSchema + Send> ToolParameter for T {}

/// The arguments of one tool call, by name.
///
/// Unknown arguments are ignored.
///
/// # Examples
///
/// ```
/// use ai_services::tool::ToolArguments;
///
/// let mut arguments = ToolArguments::parse(r#"{"city": "Oslo", "days": "three"}"#)?;
/// assert_eq!(arguments.take::<String>("city")?, "Oslo");
/// let error = arguments.take::<u32>("days").unwrap_err();
/// assert_eq!(error.to_string(), r#"days: invalid type: string "three", expected u32"#);
/// # Ok::<(), ai_services::tool::ToolError>(())
/// ```
#[derive(Debug)]
pub struct ToolArguments<'a> {
    source: Cow<'a, str>,
    members: Vec<Member>,
}

#[derive(Debug)]
struct Member {
    name: Box<str>,
    /// Byte range of the value in the source.
    value: Range<usize>,
}

impl<'a> ToolArguments<'a> {
    /// Splits a JSON object into its members.
    ///
    /// # Errors
    ///
    /// Fails if the text is not a JSON object. Blank text and `null` are read as an empty object. Trailing
    /// commas and an object inside a JSON string are accepted.
    pub fn parse(text: &'a str) -> Result<Self, ToolError> {
        if matches!(text.trim(), "" | "null") {
            return Ok(Self { source: "".into(), members: Vec::new() });
        }
        match members(text) {
            Ok(members) => Ok(Self { source: text.into(), members }),
            Err(error) => Self::parse_leniently(text, &error),
        }
    }

    fn parse_leniently(text: &str, error: &serde_json::Error) -> Result<Self, ToolError> {
        let inner = serde_json::from_str::<String>(text).ok();
        let text = without_trailing_commas(inner.as_deref().unwrap_or(text));
        match members(&text) {
            Ok(members) => Ok(Self { source: text.into(), members }),
            Err(_) => Err(ToolError::of(
                FailureKind::Arguments,
                format!("the arguments are not a JSON object: {error}"),
            )),
        }
    }

    /// Returns the argument `name`. A missing argument is `None` for an `Option` and an error otherwise.
    ///
    /// # Errors
    ///
    /// Fails if the argument is missing or of the wrong type. The message contains the path, for example
    /// `items[2].qty`.
    pub fn take<T: ToolParameter>(&mut self, name: &str) -> Result<T, ToolError> {
        match self.value(name) {
            Some(json) => typed(name, json),
            None => T::deserialize(Missing).map_err(|_| {
                ToolError::of(FailureKind::Arguments, format!("{name}: required, but missing"))
            }),
        }
    }

    /// Returns the argument `name`, or `default` if it is missing or `null`.
    ///
    /// # Errors
    ///
    /// Fails if the argument is of the wrong type. The message contains the path, for example
    /// `items[2].qty`.
    pub fn take_or<T: ToolParameter>(
        &mut self,
        name: &str,
        default: impl FnOnce() -> T,
    ) -> Result<T, ToolError> {
        match self.value(name) {
            None | Some("null") => Ok(default()),
            Some(json) => typed(name, json),
        }
    }

    /// Returns the JSON of the last member with this name.
    fn value(&self, name: &str) -> Option<&str> {
        let member = self.members.iter().rev().find(|member| &*member.name == name)?;
        self.source.get(member.value.clone())
    }
}

/// Returns `true` if a parameter of this type may be missing.
#[doc(hidden)]
pub fn is_optional<T: ToolParameter>() -> bool {
    T::deserialize(Missing).is_ok()
}

/// Reads one value. Accepts whole numbers that are written with a zero fraction, such as `42.0`.
fn typed<T: ToolParameter>(name: &str, json: &str) -> Result<T, ToolError> {
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let error = match serde_path_to_error::deserialize(&mut deserializer) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    let mut value: Value = serde_json::from_str(json).unwrap_or_default();
    if normalize_integers(&mut value)
        && let Ok(value) = serde_json::from_value(value)
    {
        return Ok(value);
    }
    let path = match error.path().to_string() {
        path if path == "." => String::new(),
        path if path.starts_with('[') => path,
        path => format!(".{path}"),
    };
    let reason = error.into_inner().to_string();
    let reason = reason.split(" at line ").next().unwrap_or(&reason);
    Err(ToolError::of(FailureKind::Arguments, format!("{name}{path}: {reason}")))
}

/// Replaces floats such as `42.0` by integers. Returns `true` if at least one was replaced.
fn normalize_integers(value: &mut Value) -> bool {
    /// 2^53: above, floats cannot represent every integer.
    const MAX_EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(float) if float.fract() == 0.0 && float.abs() <= MAX_EXACT => {
                *value = (float as i64).into();
                true
            }
            _ => false,
        },
        Value::Array(items) => {
            items.iter_mut().fold(false, |any, item| normalize_integers(item) | any)
        }
        Value::Object(map) => {
            map.values_mut().fold(false, |any, item| normalize_integers(item) | any)
        }
        _ => false,
    }
}

/// Returns the names of the members with the byte ranges of their values.
fn members(text: &str) -> Result<Vec<Member>, serde_json::Error> {
    struct Members<'a>(&'a str);

    impl<'de> Visitor<'de> for Members<'de> {
        type Value = Vec<Member>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a JSON object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Vec<Member>, A::Error> {
            let mut members = Vec::new();
            while let Some(name) = map.next_key::<Box<str>>()? {
                let value = map.next_value::<&'de RawValue>()?.get();
                let start = (value.as_ptr() as usize).saturating_sub(self.0.as_ptr() as usize);
                members.push(Member { name, value: start..start + value.len() });
            }
            Ok(members)
        }
    }

    let mut deserializer = serde_json::Deserializer::from_str(text);
    let members = deserializer.deserialize_map(Members(text))?;
    deserializer.end()?;
    Ok(members)
}

/// Removes commas before a closing bracket.
fn without_trailing_commas(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut in_string = false;
    let mut escaped = false;
    for (index, character) in text.char_indices() {
        if in_string {
            in_string = escaped || character != '"';
            escaped = character == '\\' && !escaped;
        } else if character == '"' {
            in_string = true;
        } else if character == ',' {
            let rest = text.get(index + 1..).unwrap_or_default().trim_start();
            if rest.starts_with(['}', ']']) {
                continue;
            }
        }
        out.push(character);
    }
    out
}

/// A deserializer for a missing value: `Option` reads `None`, other types fail.
struct Missing;

impl<'de> Deserializer<'de> for Missing {
    type Error = serde::de::value::Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
        Err(serde::de::Error::custom("missing"))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        visitor.visit_none()
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    fn take<T: ToolParameter>(json: &str) -> Result<T, String> {
        ToolArguments::parse(json).and_then(|mut a| a.take("a")).map_err(|e| e.to_string())
    }

    #[derive(Debug, Deserialize, JsonSchema, PartialEq)]
    struct Item {
        qty: u32,
    }

    #[test]
    fn option_may_be_missing() {
        assert_eq!(take::<Option<u8>>("{}"), Ok(None));
        assert_eq!(take::<u8>(""), Err("a: required, but missing".into()));
        assert!(is_optional::<Option<String>>() && !is_optional::<String>());
    }

    #[test]
    fn wrong_value_is_reported_with_its_path() {
        assert_eq!(
            take::<Vec<Item>>(r#"{"a":[{"qty":1},{"qty":"x"}]}"#),
            Err(r#"a[1].qty: invalid type: string "x", expected u32"#.into())
        );
    }

    #[test]
    fn floats_without_fraction_are_integers() {
        assert_eq!(take::<Vec<Item>>(r#"{"a":[{"qty":1.0}]}"#), Ok(vec![Item { qty: 1 }]));
        assert!(take::<u8>(r#"{"a":1.5}"#).is_err());
        assert!(take::<u8>(r#"{"a":256.0}"#).is_err());
        assert_eq!(take::<i64>(r#"{"a":9007199254740993}"#), Ok(9_007_199_254_740_993));
    }

    #[test]
    fn common_mistakes_are_accepted() {
        assert_eq!(take::<Vec<u8>>(r#"{"a":[1,2,],}"#), Ok(vec![1, 2]));
        assert_eq!(take::<String>(r#"{"a":"x,}\",]"}"#), Ok("x,}\",]".into()));
        assert_eq!(take::<u8>(r#""{\"a\":1}""#), Ok(1));
        assert_eq!(take::<u8>(r#"{"a":1,"a":2,"b":3}"#), Ok(2));
    }

    #[test]
    fn other_text_is_an_error() {
        for text in ["[1]", "7", "{", r#"{"a":1} x"#, r#""x""#, "{a:1}"] {
            assert!(ToolArguments::parse(text).is_err(), "{text}");
        }
    }
}
