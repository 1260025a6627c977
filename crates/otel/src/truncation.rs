//! Shortening of JSON.

use serde_json::Value;

/// Members whose texts may be cut: the others have a meaning for the reader of the JSON.
const TEXTS: [&str; 5] = ["arguments", "content", "description", "response", "uri"];

/// Returns the JSON of a value in at most `max` bytes. `None` if not even an empty list fits.
pub(crate) fn fit(mut value: Value, max: usize) -> Option<String> {
    let whole = value.to_string();
    if whole.len() <= max {
        return Some(whole);
    }
    // The largest limit of a text for which the value fits, by halving.
    let mut limit = max;
    while limit > 0 {
        limit /= 2;
        let is_text = !value.is_array();
        cut(&mut value, limit, is_text);
        let text = value.to_string();
        if text.len() <= max {
            return Some(text);
        }
    }
    // Structure alone is too large: the oldest entries are left out.
    let Value::Array(entries) = &mut value else { return None };
    let mut size = 2;
    let kept = entries.iter().rev().take_while(|entry| {
        size += entry.to_string().len() + 1;
        size <= max
    });
    let left_out = entries.len() - kept.count();
    entries.drain(..left_out);
    let text = value.to_string();
    (text.len() <= max).then_some(text)
}

/// Cuts the texts of a value to at most `limit` bytes each, plus the mark.
fn cut(value: &mut Value, limit: usize, is_text: bool) {
    match value {
        Value::String(text) if is_text && text.len() > limit + '…'.len_utf8() => {
            let mut end = limit;
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            text.truncate(end);
            text.push('…');
        }
        Value::Array(entries) => entries.iter_mut().for_each(|entry| cut(entry, limit, is_text)),
        Value::Object(members) => {
            for (name, member) in members {
                cut(member, limit, is_text || TEXTS.contains(&name.as_str()));
            }
        }
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_limit_gives_json_within_it() {
        let message =
            |text: &str| json!({"role": "user", "parts": [{"type": "text", "content": text}]});
        let value =
            json!([message(&"ä\"\n".repeat(200)), message("short"), message(&"x".repeat(300))]);
        for max in 0..2_000 {
            let Some(text) = fit(value.clone(), max) else {
                assert!(max < 2, "{max}");
                continue;
            };
            assert!(text.len() <= max, "{} bytes for {max}", text.len());
            let read: Value = serde_json::from_str(&text).unwrap();
            for entry in read.as_array().unwrap() {
                assert_eq!(entry["role"], "user");
                assert_eq!(entry["parts"][0]["type"], "text");
            }
        }
    }

    #[test]
    fn content_within_the_limit_is_unchanged() {
        let value = json!([{"role": "user"}]);
        assert_eq!(fit(value.clone(), 100), Some(value.to_string()));
    }
}
