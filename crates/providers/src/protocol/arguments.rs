//! The arguments of earlier calls, as they are sent back.

use serde_json::value::RawValue;

/// The JSON object that the model wrote as the arguments of a call; `None` if it wrote anything else.
pub(crate) fn object(text: &str) -> Option<&RawValue> {
    if !text.trim_start().starts_with('{') {
        return None;
    }
    serde_json::from_str(text).ok()
}

/// What the model wrote, or an empty object if that is none. Providers take nothing else, or read the
/// arguments of earlier calls again and refuse the whole request; the result that follows the call says
/// what was wrong with it.
pub(crate) fn object_or_empty(text: &str) -> &RawValue {
    object(text).unwrap_or_else(|| serde_json::from_str("{}").unwrap_or(RawValue::NULL))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn object_is_kept_as_it_was_written() {
        for written in [" {\"b\": 1.50,\n\"a\":2} ", r#" {"b": 1, "a":2} "#] {
            assert_eq!(object_or_empty(written).get(), written.trim());
        }
    }

    #[test]
    fn what_is_no_object_becomes_an_empty_one() {
        for text in ["", "{", "[1]", "null", "\"{}\"", "{\"a\":", "{\"a\":1,}", "{} {}"] {
            assert!(object(text).is_none(), "{text}");
            assert_eq!(object_or_empty(text).get(), "{}", "{text}");
        }
    }
}
