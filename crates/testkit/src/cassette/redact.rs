//! Removing secrets before anything is written.

use super::shapes;
use ai_services_core::model::ModelStreamEvent;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What stands in place of a secret.
const REDACTED: &str = "[redacted]";

type Function = dyn Fn(&str) -> String + Send + Sync;

/// What is removed. A recording and its replay need the same, so that requests are found again.
#[derive(Clone, Default)]
pub(super) struct Redaction {
    /// The longest first, in all forms in which JSON may hold them.
    literals: Vec<String>,
    functions: Vec<Arc<Function>>,
}

impl Redaction {
    pub(super) fn literal(&mut self, secret: String) {
        let once = escaped(&secret);
        let twice = escaped(&once);
        self.literals.extend([secret, once, twice]);
        self.literals.retain(|literal| !literal.is_empty());
        self.literals.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        self.literals.dedup();
    }

    pub(super) fn function(&mut self, function: impl Fn(&str) -> String + Send + Sync + 'static) {
        self.functions.push(Arc::new(function));
    }

    /// A text without secrets.
    pub(super) fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
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
        if let Some(changed) = without_shapes(&clean) {
            clean = Cow::Owned(changed);
        }
        match self.json(&clean) {
            Some(changed) => Cow::Owned(changed),
            None => clean,
        }
    }

    /// A text that is JSON, without secrets that are spelt differently there: JSON can be escaped in
    /// many ways.
    fn json(&self, text: &str) -> Option<String> {
        if !text.trim_start().starts_with(['{', '[']) {
            return None;
        }
        let before: Value = serde_json::from_str(text).ok()?;
        let mut after = before.clone();
        self.value(&mut after, Within::Open);
        (after != before).then(|| after.to_string())
    }

    /// Removes secrets from a line of a cassette, or a part of one.
    pub(super) fn line(&self, line: &mut Value) {
        self.value(line, Within::Line);
    }

    fn value(&self, value: &mut Value, within: Within) {
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
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item, within)),
            Value::Object(members) => self.members(members, within),
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn members(&self, members: &mut Map<String, Value>, within: Within) {
        for (name, member) in members.iter_mut() {
            match within {
                Within::Extra if shapes::is_secret_name(name) => *member = REDACTED.into(),
                _ => self.value(member, within.member(name)),
            }
        }
        // The format's own names stay as they are.
        let is_secret = |name: &String| matches!(self.text(name), Cow::Owned(_));
        if within != Within::Line && members.keys().any(is_secret) {
            let clean = std::mem::take(members).into_iter();
            *members =
                clean.map(|(name, member)| (self.text(&name).into_owned(), member)).collect();
        }
    }

    /// Removes secrets from the pieces of a stream, also those that are spread over several.
    pub(super) fn pieces(&self, pieces: &mut Vec<ModelStreamEvent>) {
        let mut whole: BTreeMap<Part, String> = BTreeMap::new();
        for piece in pieces.iter_mut() {
            if let Some((part, text)) = part(piece) {
                whole.entry(part).or_default().push_str(text);
            }
        }
        let mut clean: BTreeMap<Part, String> = BTreeMap::new();
        for (part, text) in &whole {
            if let Cow::Owned(text) = self.text(text) {
                clean.insert(*part, text);
            }
        }
        // The first piece tells the clean text of all.
        for piece in pieces.iter_mut() {
            let Some((part, text)) = part(piece) else { continue };
            if let Some(clean) = clean.get_mut(&part) {
                *text = std::mem::take(clean);
            }
        }
        pieces.retain(|piece| {
            !matches!(piece, ModelStreamEvent::Text(text) | ModelStreamEvent::Thinking(text) if text.is_empty())
        });
    }
}

/// Where a value is.
#[derive(Clone, Copy, PartialEq)]
enum Within {
    /// Among members of the format.
    Line,
    /// Among members that the application named.
    Open,
    /// Among parameters for the provider.
    Extra,
}

impl Within {
    fn member(self, name: &str) -> Self {
        match (self, name) {
            (Self::Line, "extra") => Self::Extra,
            (Self::Line, "attributes" | "schema") => Self::Open,
            (within, _) => within,
        }
    }
}

/// What pieces belong together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Text,
    Thinking,
    Call(usize),
}

fn part(piece: &mut ModelStreamEvent) -> Option<(Part, &mut String)> {
    match piece {
        ModelStreamEvent::Text(text) => Some((Part::Text, text)),
        ModelStreamEvent::Thinking(text) => Some((Part::Thinking, text)),
        ModelStreamEvent::ToolCall(delta) => Some((Part::Call(delta.index), &mut delta.arguments)),
        ModelStreamEvent::Completed(_) => None,
    }
}

/// A text as it stands between the quotation marks of JSON.
fn escaped(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    let inner = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inner.unwrap_or_default().to_owned()
}

fn without_shapes(text: &str) -> Option<String> {
    let mut clean = String::new();
    let mut start = 0;
    while let Some(found) = shapes::next(text, start) {
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
    fn literals_are_found_within_json_in_text() {
        let secret = "a\"b\\c";
        let arguments = json!({ "password": secret }).to_string();
        let nested = json!({ "inner": arguments }).to_string();
        for text in [secret, &arguments, &nested] {
            let clean = redaction(secret).text(text).into_owned();
            assert!(clean.contains(REDACTED) && !clean.contains("b\\"), "{clean}");
        }
    }

    #[test]
    fn secret_that_begins_with_a_quotation_mark_is_found_whole() {
        let arguments = json!({ "x": "\"quoted\"" }).to_string();
        let clean = redaction("\"quoted\"").text(&arguments).into_owned();
        assert_eq!(clean, r#"{"x":"[redacted]"}"#);
    }

    #[test]
    fn secrets_are_found_however_json_is_escaped() {
        let arguments = r#"{"a":"p\u0061ss\/w\u00f6rd","nested":"[\"p\\u0061ss/w\u00f6rd\"]"}"#;
        let clean = redaction("pass/wörd").text(arguments).into_owned();
        assert_eq!(clean, r#"{"a":"[redacted]","nested":"[\"[redacted]\"]"}"#);
    }

    #[test]
    fn members_with_the_names_of_secrets_are_removed_from_extra_only() {
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
    fn secrets_are_found_across_pieces() {
        let text = |text: &str| ModelStreamEvent::Text(text.to_owned());
        let mut pieces = vec![text("a hunt"), text("er2 b"), text("c")];
        redaction("hunter2").pieces(&mut pieces);
        let [ModelStreamEvent::Text(only)] = pieces.as_slice() else { panic!("{pieces:?}") };
        assert_eq!(only, "a [redacted] bc");
        let mut pieces = vec![text("a "), text("b")];
        redaction("hunter2").pieces(&mut pieces);
        assert_eq!(pieces.len(), 2);
    }

    #[test]
    fn functions_see_every_text() {
        let mut redaction = Redaction::default();
        redaction.function(|text| text.replace("Ann", "N."));
        let mut line = json!({ "a": ["I am Ann"], "extra": { "Ann": 1 } });
        redaction.line(&mut line);
        assert_eq!(line, json!({ "a": ["I am N."], "extra": { "N.": 1 } }));
    }
}
