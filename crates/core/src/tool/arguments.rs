//! Typed arguments of tool calls.

use super::error::{FailureKind, ToolError};
use crate::output::Arguments;
use schemars::JsonSchema;
use serde::de::{DeserializeOwned, Deserializer, Visitor};

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
/// Unknown arguments are ignored. Values are read by the rules of [`Output`](crate::output::Output): numbers
/// and booleans in quotes, integers written `42.0` and names of variants in another case are accepted. An
/// argument that is given twice, and everything else that would require a guess, is an error.
///
/// # Examples
///
/// ```
/// use ai_services::tool::ToolArguments;
///
/// let mut arguments = ToolArguments::parse(r#"{"city": "Oslo", "days": "three"}"#)?;
/// assert_eq!(arguments.take::<String>("city")?, "Oslo");
/// let error = arguments.take::<u32>("days").unwrap_err();
/// assert_eq!(error.to_string(), r#"days: expected u32, found "three""#);
/// # Ok::<(), ai_services::tool::ToolError>(())
/// ```
#[derive(Debug)]
pub struct ToolArguments<'a>(Arguments<'a>);

impl<'a> ToolArguments<'a> {
    /// Parses a JSON object.
    ///
    /// # Errors
    ///
    /// Fails if the text is not a JSON object, or contains an argument or a key of an argument twice. Blank text
    /// and `null` are read as an empty object. Trailing commas and an object inside a JSON string are accepted.
    pub fn parse(text: &'a str) -> Result<Self, ToolError> {
        Arguments::parse(text).map(Self).map_err(invalid)
    }

    /// Returns the argument `name`. A missing argument is `None` for an `Option` and an error otherwise.
    ///
    /// # Errors
    ///
    /// Fails if the argument is missing or of the wrong type. The message contains the path, for example
    /// `items[2].qty`.
    pub fn take<T: ToolParameter>(&mut self, name: &str) -> Result<T, ToolError> {
        match self.0.get(name) {
            Some(argument) => argument.read().map_err(invalid),
            None => T::deserialize(Missing)
                .map_err(|_| invalid(format!("{name}: required, but missing"))),
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
        match self.0.get(name).filter(|argument| !argument.is_null()) {
            Some(argument) => argument.read().map_err(invalid),
            None => Ok(default()),
        }
    }
}

fn invalid(message: String) -> ToolError {
    ToolError::of(FailureKind::Arguments, message)
}

/// Returns `true` if a parameter of this type may be missing.
#[doc(hidden)]
pub fn is_optional<T: ToolParameter>() -> bool {
    T::deserialize(Missing).is_ok()
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
    use std::collections::BTreeMap;

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
            Err(r#"a[1].qty: expected u32, found "x""#.into())
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
    }

    #[test]
    fn values_are_read_like_answers() {
        assert_eq!(take::<f64>(r#"{"a":"1"}"#), Ok(1.0));
        assert_eq!(take::<u32>(r#"{"a":" 36 "}"#), Ok(36));
        assert_eq!(take::<bool>(r#"{"a":"True"}"#), Ok(true));
        assert_eq!(take::<String>(r#"{"a":12345}"#), Ok("12345".into()));
        assert_eq!(take::<Vec<Item>>(r#"{"a":[{"qty":"1"}]}"#), Ok(vec![Item { qty: 1 }]));
        assert_eq!(take::<Option<u8>>(r#"{"a":null}"#), Ok(None));
        assert_eq!(take::<Unit>(r#"{"a":"CELSIUS"}"#), Ok(Unit::Celsius));
        for guess in [r#"{"a":""}"#, r#"{"a":"one"}"#, r#"{"a":"1.5"}"#, r#"{"a":true}"#] {
            assert!(take::<u8>(guess).is_err(), "{guess}");
        }
        assert!(take::<f32>(r#"{"a":1e99}"#).is_err());
    }

    #[derive(Debug, Deserialize, JsonSchema, PartialEq)]
    #[serde(rename_all = "lowercase")]
    enum Unit {
        Celsius,
        Fahrenheit,
    }

    #[test]
    fn argument_given_twice_is_an_error() {
        assert_eq!(take::<u8>(r#"{"a":1,"a":2}"#), Err("duplicate argument `a`".into()));
        assert_eq!(
            take::<BTreeMap<String, u8>>(r#"{"a":{"b":1,"b":2}}"#),
            Err("a: duplicate key `b`".into())
        );
        let nested = r#"{"a":[{"qty":1},{"b":1,"b":2}]}"#;
        assert_eq!(take::<Vec<Item>>(nested), Err("a[1]: duplicate key `b`".into()));
    }

    #[test]
    fn argument_with_escapes_is_read() {
        assert_eq!(take::<String>(r#"{"\u0061":"\"x\"\n"}"#), Ok("\"x\"\n".into()));
        let inside_a_string = r#""{\"a\":[{\"qty\":\"1\"}]}""#;
        assert_eq!(take::<Vec<Item>>(inside_a_string), Ok(vec![Item { qty: 1 }]));
    }

    #[test]
    fn other_text_is_an_error() {
        for text in ["[1]", "7", "{", r#"{"a":1} x"#, r#""x""#, "{a:1}"] {
            assert!(ToolArguments::parse(text).is_err(), "{text}");
        }
    }
}
