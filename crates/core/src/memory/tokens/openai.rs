//! OpenAI's formula for counting the tokens of messages.

use super::{EstimatorId, TokenCountEstimator};
use crate::error::{Error, ErrorKind, Result};
use crate::message::{AiMessage, ChatMessage, Content, ToolCall};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::fmt::{self, Write};

/// The formula by which OpenAI's models count messages, with any counter of texts.
///
/// OpenAI documents the formula for messages in its cookbook. The numbers for tool calls are from
/// LangChain4j, which determined them by experiment. `TiktokenCounter` is this formula with
/// OpenAI's own tokenizer. In tokens:
///
/// | item | tokens |
/// |---|---|
/// | a list | 3; 2 for models whose name starts with `o` |
/// | a message | 4 + its text; 2 more for an assistant message on `o4…` |
/// | a name of the user | 1 + the name |
/// | one tool call | 5 + twice the name + the arguments as text |
/// | several tool calls | 21, and for each 7 + the name, and for each argument 2 + key + value |
///
/// The model's thinking is not counted, because it is not sent back.
///
/// # Examples
///
/// ```
/// use ai_services::memory::{OpenAiFormula, TokenCountEstimator};
/// use ai_services::message::ChatMessage;
///
/// let words = OpenAiFormula::new("gpt-4o", |text: &str| text.split_whitespace().count());
/// assert_eq!(words.count_message(&ChatMessage::user("Hello there!"))?, 6);
/// assert_eq!(words.request_overhead(), 3);
/// # Ok::<(), ai_services::Error>(())
/// ```
///
/// # Errors
///
/// [`count_message`](TokenCountEstimator::count_message) fails for content other than text, for
/// custom messages, and for several calls if the arguments of one are not a JSON object.
#[derive(Clone)]
pub struct OpenAiFormula<C> {
    count: C,
    model: Model,
    id: EstimatorId,
}

/// The families of models that the formula distinguishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Model {
    Gpt,
    /// Models named `o1`, `o3` and so on.
    Reasoning,
    /// Models named `o4…`.
    O4,
}

impl Model {
    pub(super) fn named(name: &str) -> Self {
        if name.starts_with("o4") {
            Self::O4
        } else if name.starts_with('o') {
            Self::Reasoning
        } else {
            Self::Gpt
        }
    }
}

impl<C: Fn(&str) -> usize> OpenAiFormula<C> {
    /// Creates the formula for a model, with a counter of texts. Clones share their cached counts.
    #[must_use]
    pub fn new(model: &str, count: C) -> Self {
        Self::with_id(Model::named(model), count, EstimatorId::unique())
    }

    pub(super) fn with_id(model: Model, count: C, id: EstimatorId) -> Self {
        Self { count, model, id }
    }

    fn count(&self, text: &str) -> usize {
        (self.count)(text)
    }

    fn contents(&self, contents: &[Content]) -> Result<usize> {
        let counts = contents.iter().map(|content| match content.text() {
            Some(text) => Ok(self.count(text)),
            None => Err(uncountable("images, audio, video and PDF")),
        });
        counts.sum()
    }

    fn ai(&self, message: &AiMessage) -> Result<usize> {
        let text = message.text().map_or(0, |text| self.count(text));
        let extra = if self.model == Model::O4 { 2 } else { 0 };
        let calls = match message.tool_calls() {
            [] => 0,
            [call] => 5 + 2 * self.count(call.name()) + self.count(call.arguments()),
            calls => 21 + calls.iter().map(|call| self.call(call)).sum::<Result<usize>>()?,
        };
        Ok(text + extra + calls)
    }

    fn call(&self, call: &ToolCall) -> Result<usize> {
        let arguments = arguments(call)?;
        let counts = arguments.iter().map(|(key, value)| {
            let mut text = String::new();
            write_value(value, &mut text);
            2 + self.count(key) + self.count(&text)
        });
        Ok(7 + self.count(call.name()) + counts.sum::<usize>())
    }
}

impl<C: Fn(&str) -> usize + Send + Sync> TokenCountEstimator for OpenAiFormula<C> {
    fn count_text(&self, text: &str) -> usize {
        self.count(text)
    }

    fn count_message(&self, message: &ChatMessage) -> Result<usize> {
        let own = match message {
            ChatMessage::System(message) => self.count(message.text()),
            ChatMessage::User(message) => {
                let name = message.name().map_or(0, |name| 1 + self.count(name));
                self.contents(message.contents())? + name
            }
            ChatMessage::Ai(message) => self.ai(message)?,
            ChatMessage::ToolResult(message) => self.contents(message.contents())?,
            ChatMessage::Custom(_) => return Err(uncountable("custom messages")),
        };
        Ok(4 + own)
    }

    fn request_overhead(&self) -> usize {
        if self.model == Model::Gpt { 3 } else { 2 }
    }

    fn identity(&self) -> Option<EstimatorId> {
        Some(self.id)
    }
}

impl<C> fmt::Debug for OpenAiFormula<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenAiFormula").field("model", &self.model).finish_non_exhaustive()
    }
}

fn uncountable(what: &str) -> Error {
    Error::new(
        ErrorKind::Unsupported,
        format!("tokens of {what} cannot be counted by OpenAI's formula; use `ApproximateCounter`"),
    )
}

/// Returns the arguments of a call; empty for blank text. Ignores text after the object.
fn arguments(call: &ToolCall) -> Result<Map<String, Value>> {
    let text = call.arguments();
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    Map::deserialize(&mut serde_json::Deserializer::from_str(text)).map_err(|source| {
        let name = call.name();
        let message = format!(
            "tokens of a call of `{name}` cannot be counted: its arguments are not a JSON object"
        );
        Error::new(ErrorKind::Store, message).with_source(source)
    })
}

/// Writes a value in Java's format, because the numbers of the formula were measured with it.
fn write_value(value: &Value, out: &mut String) {
    match value {
        Value::String(text) => out.push_str(text),
        Value::Array(values) => write_list(values.iter().map(|value| (None, value)), "[]", out),
        Value::Object(map) => write_list(map.iter().map(|(k, v)| (Some(k), v)), "{}", out),
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(number) => write_double(number, out),
            None => push(out, format_args!("{number}")),
        },
        Value::Null | Value::Bool(_) => push(out, format_args!("{value}")),
    }
}

fn write_list<'a>(
    items: impl Iterator<Item = (Option<&'a String>, &'a Value)>,
    brackets: &str,
    out: &mut String,
) {
    let (open, close) = brackets.split_at(1);
    out.push_str(open);
    for (index, (key, value)) in items.enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        if let Some(key) = key {
            push(out, format_args!("{key}="));
        }
        write_value(value, out);
    }
    out.push_str(close);
}

/// Writes `1.5`, `100.0`, `1.0E10`: scientific below 0.001 and from 10,000,000 on.
fn write_double(number: f64, out: &mut String) {
    let size = number.abs();
    if size == 0.0 || (1e-3..1e7).contains(&size) {
        return push(out, format_args!("{number:?}"));
    }
    let text = format!("{number:E}");
    match text.split_once('E') {
        Some((digits, exponent)) if !digits.contains('.') => {
            push(out, format_args!("{digits}.0E{exponent}"));
        }
        _ => out.push_str(&text),
    }
}

/// Appends formatted text. Writing to a string cannot fail.
fn push(out: &mut String, text: fmt::Arguments<'_>) {
    let _ = out.write_fmt(text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn to_java(value: &Value) -> String {
        let mut out = String::new();
        write_value(value, &mut out);
        out
    }

    fn characters(model: &str) -> OpenAiFormula<impl Fn(&str) -> usize + Send + Sync> {
        OpenAiFormula::new(model, |text: &str| text.chars().count())
    }

    fn calls(arguments: &[&str]) -> ChatMessage {
        let calls = arguments.iter().map(|arguments| ToolCall::new("1", "t", *arguments));
        AiMessage::builder().tool_calls(calls).build().into()
    }

    #[test]
    fn values_are_formatted_like_java() {
        let nested = json!({"a": [1, "x", null, true], "o": {"k": 1.5}, "e": {}});
        assert_eq!(to_java(&nested), "{a=[1, x, null, true], e={}, o={k=1.5}}");
        for (number, text) in
            [(1e10, "1.0E10"), (1.25e-4, "1.25E-4"), (100.0, "100.0"), (9999999.0, "9999999.0")]
        {
            assert_eq!(to_java(&json!(number)), text);
        }
    }

    #[test]
    fn several_calls_are_counted_by_argument() {
        let formula = characters("gpt-4o");
        assert_eq!(formula.count_message(&calls(&["{oops"])).unwrap(), 4 + 5 + 2 + 5);
        let two = calls(&[r#"{"key":"value"} and more"#, " "]);
        assert_eq!(formula.count_message(&two).unwrap(), 4 + 21 + (7 + 1 + 2 + 3 + 5) + (7 + 1));
    }

    #[test]
    fn reasoning_models_have_other_overheads() {
        let message = ChatMessage::ai("abc");
        let count = |model| {
            let formula = characters(model);
            (formula.request_overhead(), formula.count_message(&message).unwrap())
        };
        assert_eq!((count("gpt-4o"), count("o3"), count("o4-mini")), ((3, 7), (2, 7), (2, 9)));
    }

    #[test]
    fn uncountable_messages_are_errors() {
        let formula = characters("gpt-4o");
        let image = crate::message::UserMessage::from_contents([Content::image_url("http://x/y")]);
        for message in [calls(&["{}", "[1]"]), calls(&["{oops", "{}"]), image.into()] {
            assert!(formula.count_message(&message).is_err(), "{message:?}");
        }
    }
}
