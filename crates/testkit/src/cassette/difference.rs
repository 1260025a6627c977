//! Where two requests differ.

use serde_json::Value;
use std::fmt;

/// More places are not looked for.
const MAX: usize = 100;

/// The paths at which the values differ, like `messages[1].text`.
pub(super) fn differences(recorded: &Value, asked: &Value) -> Vec<String> {
    let mut paths = Vec::new();
    compare(recorded, asked, &mut String::new(), &mut paths);
    paths
}

fn compare(recorded: &Value, asked: &Value, path: &mut String, paths: &mut Vec<String>) {
    if recorded == asked || paths.len() >= MAX {
        return;
    }
    let length = path.len();
    let mut step = |segment: String, a: &Value, b: &Value| {
        path.push_str(&segment);
        compare(a, b, path, paths);
        path.truncate(length);
    };
    match (recorded, asked) {
        (Value::Object(a), Value::Object(b)) => {
            let dot = if length == 0 { "" } else { "." };
            let only_asked = b.keys().filter(|name| !a.contains_key(*name));
            for name in a.keys().chain(only_asked) {
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

/// Nothing in a request is `null`.
const ABSENT: Value = Value::Null;

/// A request that a cassette has no answer to: the [detail](ai_services_core::Error::detail) of a
/// [`ReplayModel`](super::ReplayModel)'s error.
#[derive(Debug)]
#[non_exhaustive]
pub struct NotRecorded {
    /// The line of the most similar request, or of the one whose turn it is; `None` if there is none.
    pub line: Option<usize>,
    /// Where it differs, as paths like `messages[1].text`, at most 100. Empty if it is equal, and was
    /// used before.
    pub differences: Vec<String>,
}

impl fmt::Display for NotRecorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 5;
        let Some(line) = self.line else {
            return f.write_str("the cassette has no exchange left for the request");
        };
        if self.differences.is_empty() {
            return write!(f, "the exchange on line {line} of the cassette was used before");
        }
        let shown: Vec<_> =
            self.differences.iter().take(SHOWN).map(|path| format!("`{path}`")).collect();
        let more = self.differences.len().saturating_sub(SHOWN);
        let place = shown.join(", ");
        write!(
            f,
            "the request is not in the cassette; the nearest is that on line {line}, which differs at {place}"
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
    fn paths_lead_to_what_differs() {
        let recorded = json!({ "messages": [{ "text": "a" }, { "text": "b" }], "tools": [1] });
        let asked = json!({ "messages": [{ "text": "a" }, { "text": "c", "name": "n" }] });
        assert_eq!(
            differences(&recorded, &asked),
            ["messages[1].text", "messages[1].name", "tools"]
        );
        assert!(differences(&asked, &asked).is_empty());
    }
}
