//! Arguments of earlier tool calls, which requests repeat.

use serde_json::value::RawValue;

/// Returns the arguments of a call if they are a JSON object.
pub(crate) fn object(text: &str) -> Option<&RawValue> {
    if !text.trim_start().starts_with('{') {
        return None;
    }
    serde_json::from_str(text).ok()
}

/// Returns the arguments of a call, or an empty object if they are not a JSON object.
///
/// Providers reject a request in which earlier arguments are not an object. The model learns about its
/// mistake from the result of the call.
pub(crate) fn object_or_empty(text: &str) -> &RawValue {
    object(text).unwrap_or_else(|| serde_json::from_str("{}").unwrap_or(RawValue::NULL))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn object_is_kept_unchanged() {
        for written in [" {\"b\": 1.50,\n\"a\":2} ", r#" {"b": 1, "a":2} "#] {
            assert_eq!(object_or_empty(written).get(), written.trim());
        }
    }

    #[test]
    fn arguments_other_than_an_object_become_an_empty_object() {
        for text in ["", "{", "[1]", "null", "\"{}\"", "{\"a\":", "{\"a\":1,}", "{} {}"] {
            assert!(object(text).is_none(), "{text}");
            assert_eq!(object_or_empty(text).get(), "{}", "{text}");
        }
    }
}
