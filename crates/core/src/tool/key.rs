//! Idempotency keys of tool calls.

use super::ToolArguments;
use crate::error::{Error, Result};
use crate::invocation::TurnId;
use ai_services_template::{Segment, parse, scan};
use schemars::Schema;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Number of bytes of the digest in a key. Two calls share a key with a probability of 2⁻¹²⁸.
const KEY_BYTES: usize = 16;

/// The place of a call in a conversation. It is the same after a restart.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallPlace {
    /// The turn.
    pub turn: TurnId,
    /// The number of the round of tool calls in the turn, from 1.
    pub round: u32,
    /// The index of the call in the answer of the model, from 0.
    pub index: u32,
}

impl CallPlace {
    /// Returns the key of a call of this tool: 32 hexadecimal digits in lower case.
    ///
    /// The provider's id of the call is left out, because some providers repeat their ids.
    pub(super) fn key(&self, tool: &str) -> String {
        let mut digest = Sha256::new();
        digest.update(self.turn.as_u128().to_be_bytes());
        digest.update(self.round.to_be_bytes());
        digest.update(self.index.to_be_bytes());
        digest.update(tool);
        let bytes = digest.finalize();
        bytes.iter().take(KEY_BYTES).map(|byte| format!("{byte:02x}")).collect()
    }
}

/// A template that renders a key from the arguments of a call.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyTemplate(Box<[Piece]>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(Box<str>),
    Argument(Box<str>),
}

impl KeyTemplate {
    /// Creates a template from a text without mistakes, for example one that a macro has checked.
    #[doc(hidden)]
    #[must_use]
    pub fn checked(text: &str) -> Self {
        Self(scan(text).segments.iter().map(Piece::from).collect())
    }

    /// Parses a template for a tool with these parameters.
    ///
    /// # Errors
    ///
    /// Fails if the template is malformed, has no placeholder, or has a placeholder that is not a parameter.
    pub(super) fn parse(text: &str, parameters: Option<&Schema>) -> Result<Self> {
        let fault = |reason: String| Error::configuration(format!("key `{text}`: {reason}"));
        let segments = parse(text).map_err(|error| fault(error.to_string()))?;
        let template = Self(segments.iter().map(Piece::from).collect());
        let properties = parameters.and_then(|schema| schema.get("properties"));
        let is_parameter = |name: &str| properties.is_some_and(|all| all.get(name).is_some());
        if let Some(name) = template.arguments().find(|name| !is_parameter(name)) {
            return Err(fault(format!("the tool has no parameter named `{name}`")));
        }
        if template.arguments().next().is_none() {
            let reason = "all calls would share the key; name a parameter as `{{name}}`";
            return Err(fault(reason.to_owned()));
        }
        Ok(template)
    }

    /// Renders the key of a call with these arguments, a JSON object.
    ///
    /// A string is its text, any other value compact JSON. A missing argument and `null` are empty texts. Returns
    /// `None` if the arguments cannot be read, or if all of them are empty: such calls would share one key.
    pub(super) fn render(&self, arguments: &str) -> Option<String> {
        let mut arguments = ToolArguments::parse(arguments).ok()?;
        let mut key = String::new();
        let mut is_empty = true;
        for piece in &self.0 {
            let name = match piece {
                Piece::Text(text) => {
                    key.push_str(text);
                    continue;
                }
                Piece::Argument(name) => name,
            };
            let text = match arguments.take_or(name, || Value::Null).ok()? {
                Value::Null => continue,
                Value::String(text) => text,
                other => other.to_string(),
            };
            is_empty &= text.is_empty();
            key.push_str(&text);
        }
        (!is_empty).then_some(key)
    }

    fn arguments(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Text(_) => None,
            Piece::Argument(name) => Some(&**name),
        })
    }
}

impl From<&Segment<'_>> for Piece {
    fn from(segment: &Segment<'_>) -> Self {
        match *segment {
            Segment::Text(text) => Self::Text(text.into()),
            Segment::Placeholder { name, .. } => Self::Argument(name.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schemars::json_schema;

    const PLACE: CallPlace = CallPlace { turn: TurnId::from_u128(7), round: 1, index: 0 };

    fn rendered(template: &str, arguments: &str) -> Option<String> {
        KeyTemplate::checked(template).render(arguments)
    }

    fn mistake(template: &str) -> String {
        let schema = json_schema!({ "type": "object", "properties": { "order": {} } });
        KeyTemplate::parse(template, Some(&schema)).unwrap_err().to_string()
    }

    // Keys are stored by receivers: a new release must not change them.
    #[test]
    fn key_of_a_place_is_fixed() {
        assert_eq!(PLACE.key("pay"), "dad2aa12900f1258efd39087c9973651");
    }

    #[test]
    fn key_of_a_place_depends_on_each_part() {
        let keys = [
            PLACE.key("pay"),
            PLACE.key("refund"),
            CallPlace { turn: TurnId::from_u128(8), ..PLACE }.key("pay"),
            CallPlace { round: 2, ..PLACE }.key("pay"),
            CallPlace { index: 1, ..PLACE }.key("pay"),
        ];
        let unique: std::collections::HashSet<_> = keys.iter().collect();
        assert_eq!(unique.len(), keys.len());
    }

    #[test]
    fn template_takes_strings_as_text_and_other_values_as_json() {
        let arguments =
            r#"{"order": "A 7", "amount": 12.50, "lines": [ 1, {"sku": "x"} ], "ok": true}"#;
        let text = rendered("pay-{{order}}/{{ amount }}/{{lines}}/{{ok}}", arguments);
        assert_eq!(text.unwrap(), r#"pay-A 7/12.5/[1,{"sku":"x"}]/true"#);
    }

    #[test]
    fn missing_argument_is_empty() {
        assert_eq!(rendered("{{order}}-{{memo}}", r#"{"order":"7"}"#).unwrap(), "7-");
        assert_eq!(rendered("{{order}}-{{memo}}", r#"{"order":"7","memo":null}"#).unwrap(), "7-");
    }

    #[test]
    fn template_without_any_argument_has_no_key() {
        for arguments in ["", "{}", r#"{"order":null}"#, r#"{"order":""}"#, "[1]", "{"] {
            assert_eq!(rendered("pay-{{order}}", arguments), None, "{arguments}");
        }
    }

    #[test]
    fn argument_is_never_a_template() {
        assert_eq!(rendered("{{a}}", r#"{"a":"{{b}}","b":"x"}"#).unwrap(), "{{b}}");
    }

    #[test]
    fn wrong_template_is_refused() {
        assert!(mistake("{{order").contains("`{{` is never closed"));
        assert!(mistake("pay").contains("all calls would share the key"));
        assert!(mistake("{{order}}-{{amount}}").contains("no parameter named `amount`"));
        assert!(KeyTemplate::parse("{{order}}", None).is_err());
    }
}
