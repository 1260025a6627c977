//! What a provider's error body says, in any of the forms in use.

use serde_json::{Map, Value};

/// The parts of an error body.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Said {
    pub(super) message: Option<String>,
    /// The most specific code given: `code`, else `type`, else `status`.
    pub(super) code: Option<String>,
    /// A code that is a number, which some gateways give in place of the status.
    pub(super) number: Option<u16>,
}

impl Said {
    /// Reads `{"error": {…}}`, `{"error": "…"}`, `{"response": {"error": {…}}}`, `{"message": …}`, `{"detail": …}`, and each of
    /// them as the only element of an array. `None` if the body is none of these.
    pub(super) fn parse(body: &[u8]) -> Option<Self> {
        let said: Value = serde_json::from_slice(body).ok()?;
        let said = match &said {
            Value::Array(list) => list.first()?,
            said => said,
        };
        let outer = said.as_object()?;
        // An answer that failed may be told of from outside: `{"response": {"error": {…}}}`.
        let inner = || outer.get("response")?.get("error");
        let error = outer.get("error").filter(|error| !error.is_null());
        match error.or_else(inner) {
            Some(Value::Object(error)) => Some(Self::of(error)),
            // Here the other members still say more: `{"error": "…", "code": …}`.
            Some(Value::String(text)) => {
                let code = Self::of(outer);
                Some(Self { message: Some(code.message.unwrap_or_else(|| text.clone())), ..code })
            }
            _ => Some(Self::of(outer)).filter(|said| said.message.is_some()),
        }
    }

    fn of(error: &Map<String, Value>) -> Self {
        let text = |name: &str| match error.get(name)? {
            Value::String(text) if !text.is_empty() => Some(text.clone()),
            _ => None,
        };
        let message = ["message", "detail", "msg"].iter().find_map(|name| text(name));
        let number = error.get("code").and_then(|code| match code {
            Value::String(digits) => digits.parse().ok(),
            number => number.as_u64().and_then(|number| u16::try_from(number).ok()),
        });
        Self {
            message: message
                .or_else(|| error.get("detail").map(ToString::to_string))
                .or_else(|| error.get("message").map(ToString::to_string)),
            code: text("code").or_else(|| text("type")).or_else(|| text("status")),
            number,
        }
    }
}
