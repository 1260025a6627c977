//! Redaction of secrets before a cassette or a record is written.

mod secret_patterns;

use serde_json::{Map, Value};
use std::borrow::Cow;
use std::sync::Arc;

/// Replacement of a secret.
const REDACTED: &str = "[redacted]";

type RedactionFn = dyn Fn(&str) -> String + Send + Sync;

/// The texts to redact. A recording and its replay need equal redactions, so that requests match.
#[derive(Clone, Default)]
#[allow(missing_debug_implementations, reason = "the literals are secret")]
pub struct Redaction {
    /// Literals in all their JSON escapings, the longest first.
    literals: Vec<String>,
    functions: Vec<Arc<RedactionFn>>,
}

impl Redaction {
    /// Adds a text.
    pub fn literal(&mut self, secret: String) {
        let once = escaped(&secret);
        let twice = escaped(&once);
        self.literals.extend([secret, once, twice]);
        self.literals.retain(|literal| !literal.is_empty());
        self.literals.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        self.literals.dedup();
    }

    /// Adds a function that replaces secrets in a text.
    pub fn function(&mut self, function: impl Fn(&str) -> String + Send + Sync + 'static) {
        self.functions.push(Arc::new(function));
    }

    /// Returns the text without secrets.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut clean = Cow::Borrowed(text);
        for literal in &self.literals {
            if clean.contains(literal.as_str()) {
                clean = Cow::Owned(clean.replace(literal.as_str(), REDACTED));
            }
        }
        for function in &self.functions {
            let changed = function(&clean);
            if *clean != changed {
                clean = Cow::Owned(changed);
            }
        }
        if let Some(changed) = redact_patterns(&clean) {
            clean = Cow::Owned(changed);
        }
        match self.json(&clean) {
            Some(changed) => Cow::Owned(changed),
            None => clean,
        }
    }

    /// Redacts a text that is JSON by its values, because JSON allows many escapings of a secret. Returns
    /// `None` if no value changed.
    fn json(&self, text: &str) -> Option<String> {
        if !text.trim_start().starts_with(['{', '[']) {
            return None;
        }
        let before: Value = serde_json::from_str(text).ok()?;
        let mut after = before.clone();
        self.value(&mut after, JsonLocation::Open);
        (after != before).then(|| after.to_string())
    }

    /// Redacts a line of a cassette or of records, or a part of one.
    pub fn line(&self, line: &mut Value) {
        self.value(line, JsonLocation::Line);
    }

    fn value(&self, value: &mut Value, location: JsonLocation) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(clean) = self.text(text) {
                    *text = clean;
                }
            }
            Value::Number(number) => {
                let text = number.to_string();
                if self.literals.contains(&text) {
                    *value = REDACTED.into();
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item, location)),
            Value::Object(members) => self.members(members, location),
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn members(&self, members: &mut Map<String, Value>, location: JsonLocation) {
        for (name, member) in members.iter_mut() {
            match location {
                JsonLocation::Extra if secret_patterns::is_secret_name(name) => {
                    *member = REDACTED.into();
                }
                _ => self.value(member, location.member(name)),
            }
        }
        // Names of the format itself are not changed.
        let is_secret = |name: &String| matches!(self.text(name), Cow::Owned(_));
        if location != JsonLocation::Line && members.keys().any(is_secret) {
            let clean = std::mem::take(members).into_iter();
            *members =
                clean.map(|(name, member)| (self.text(&name).into_owned(), member)).collect();
        }
    }
}

/// Position of a value in a line.
#[derive(Clone, Copy, PartialEq)]
enum JsonLocation {
    /// Inside members of the format.
    Line,
    /// Inside members that the application named.
    Open,
    /// Inside provider-specific parameters.
    Extra,
}

impl JsonLocation {
    fn member(self, name: &str) -> Self {
        match (self, name) {
            (Self::Line, "extra") => Self::Extra,
            (Self::Line, "attributes" | "schema") => Self::Open,
            (location, _) => location,
        }
    }
}

/// Escapes a text for use between the quotation marks of a JSON string.
fn escaped(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    let inner = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inner.unwrap_or_default().to_owned()
}

fn redact_patterns(text: &str) -> Option<String> {
    let mut clean = String::new();
    let mut start = 0;
    while let Some(found) = secret_patterns::next_secret(text, start) {
        clean.push_str(text.get(start..found.start)?);
        clean.push_str(REDACTED);
        start = found.end;
    }
    if start == 0 {
        return None;
    }
    clean.push_str(text.get(start..)?);
    Some(clean)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn redaction(secret: &str) -> Redaction {
        let mut redaction = Redaction::default();
        redaction.literal(secret.to_owned());
        redaction
    }

    #[test]
    fn literals_are_redacted_inside_nested_json() {
        let secret = "a\"b\\c";
        let arguments = json!({ "password": secret }).to_string();
        let nested = json!({ "inner": arguments }).to_string();
        for text in [secret, &arguments, &nested] {
            let clean = redaction(secret).text(text).into_owned();
            assert!(clean.contains(REDACTED) && !clean.contains("b\\"), "{clean}");
        }
    }

    #[test]
    fn secret_with_leading_quote_is_fully_redacted() {
        let arguments = json!({ "x": "\"quoted\"" }).to_string();
        let clean = redaction("\"quoted\"").text(&arguments).into_owned();
        assert_eq!(clean, r#"{"x":"[redacted]"}"#);
    }

    #[test]
    fn secrets_are_redacted_in_any_json_escaping() {
        let arguments = r#"{"a":"p\u0061ss\/w\u00f6rd","nested":"[\"p\\u0061ss/w\u00f6rd\"]"}"#;
        let clean = redaction("pass/wörd").text(arguments).into_owned();
        assert_eq!(clean, r#"{"a":"[redacted]","nested":"[\"[redacted]\"]"}"#);
    }

    #[test]
    fn secret_names_are_redacted_in_extra_only() {
        let mut line = json!({
            "request": { "parameters": { "extra": { "auth": { "api_key": 5 }, "max_tokens": 7 } } },
            "key": "stays"
        });
        redaction("nothing").line(&mut line);
        assert_eq!(
            line,
            json!({
                "request": {
                    "parameters": { "extra": { "auth": { "api_key": REDACTED }, "max_tokens": 7 } }
                },
                "key": "stays"
            })
        );
    }

    #[test]
    fn functions_are_applied_to_every_text() {
        let mut redaction = Redaction::default();
        redaction.function(|text| text.replace("Ann", "N."));
        let mut line = json!({ "a": ["I am Ann"], "extra": { "Ann": 1 } });
        redaction.line(&mut line);
        assert_eq!(line, json!({ "a": ["I am N."], "extra": { "N.": 1 } }));
    }
}
