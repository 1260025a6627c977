//! Differences between two requests.

use serde_json::Value;
use std::fmt;

/// Maximum number of reported differences.
const MAX_DIFFERENCES: usize = 100;

/// Returns the paths at which the values differ, such as `messages[1].text`.
pub(super) fn differences(recorded: &Value, actual: &Value) -> Vec<String> {
    let mut paths = Vec::new();
    compare(recorded, actual, &mut String::new(), &mut paths);
    paths
}

fn compare(recorded: &Value, actual: &Value, path: &mut String, paths: &mut Vec<String>) {
    if recorded == actual || paths.len() >= MAX_DIFFERENCES {
        return;
    }
    let length = path.len();
    let mut step = |segment: String, a: &Value, b: &Value| {
        path.push_str(&segment);
        compare(a, b, path, paths);
        path.truncate(length);
    };
    match (recorded, actual) {
        (Value::Object(a), Value::Object(b)) => {
            let dot = if length == 0 { "" } else { "." };
            let only_actual = b.keys().filter(|name| !a.contains_key(*name));
            for name in a.keys().chain(only_actual) {
                let [a, b] = [a, b].map(|members| members.get(name).unwrap_or(&ABSENT));
                step(format!("{dot}{name}"), a, b);
            }
        }
        (Value::Array(a), Value::Array(b)) => {
            for index in 0..a.len().max(b.len()) {
                let [a, b] = [a, b].map(|items| items.get(index).unwrap_or(&ABSENT));
                step(format!("[{index}]"), a, b);
            }
        }
        _ => paths.push(path.clone()),
    }
}

/// Stand-in for an absent value. Requests do not contain `null`.
const ABSENT: Value = Value::Null;

/// The [detail](ai_services_core::Error::detail) of a [`ReplayModel`](super::ReplayModel)'s error for a
/// request that is not in the cassette.
#[derive(Debug)]
#[non_exhaustive]
pub struct NotRecorded {
    /// Line of the most similar exchange, or of the next exchange of a sequence; `None` if no exchange is
    /// left.
    pub line: Option<usize>,
    /// Paths of the differences, such as `messages[1].text`, at most 100. Empty if the request is equal, but
    /// its exchange was already used.
    pub differences: Vec<String>,
}

impl fmt::Display for NotRecorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 5;
        let Some(line) = self.line else {
            return f.write_str("the cassette has no exchange left for the request");
        };
        if self.differences.is_empty() {
            return write!(f, "the exchange on line {line} of the cassette was already used");
        }
        let shown: Vec<_> =
            self.differences.iter().take(SHOWN).map(|path| format!("`{path}`")).collect();
        let more = self.differences.len().saturating_sub(SHOWN);
        let place = shown.join(", ");
        write!(
            f,
            "the request is not in the cassette; the most similar one, on line {line}, differs at {place}"
        )?;
        if more > 0 { write!(f, " and {more} more") } else { Ok(()) }
    }
}

impl std::error::Error for NotRecorded {}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn paths_of_differences_are_returned() {
        let recorded = json!({ "messages": [{ "text": "a" }, { "text": "b" }], "tools": [1] });
        let actual = json!({ "messages": [{ "text": "a" }, { "text": "c", "name": "n" }] });
        assert_eq!(
            differences(&recorded, &actual),
            ["messages[1].text", "messages[1].name", "tools"]
        );
        assert!(differences(&actual, &actual).is_empty());
    }
}
