//! The blocks of an answer, and the message that they are.

use super::block::{self, Block, is_blank};
use super::message::DIALECT;
use crate::protocol::arguments::{object, object_or_empty};
use crate::protocol::raw_object::RawObject;
use ai_services_core::message::{AiMessage, ProviderContent, ToolCall};
use serde_json::value::RawValue;

/// What a block says to everybody.
#[derive(Debug, PartialEq)]
pub(super) enum Said {
    Text(String),
    Thinking(String),
    /// Thoughts that nobody but the API can read.
    Redacted,
    Call(ToolCall),
    /// Something that only this API has words for.
    Other,
}

/// A block, as far as messages can hold it.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) said: Said,
    /// Whether there is no more to it.
    pub(super) is_plain: bool,
}

impl Part {
    /// What a block says whose members are these.
    pub(super) fn of(fields: &RawObject<'_>) -> Self {
        let said = match &*fields.text("type") {
            "text" => Said::Text(fields.text("text").into_owned()),
            "thinking" => Said::Thinking(fields.text("thinking").into_owned()),
            "tool_use" => {
                let (id, name) = (fields.text("id"), fields.text("name"));
                Said::Call(ToolCall::new(id, name, arguments(fields)))
            }
            "redacted_thinking" => Said::Redacted,
            _ => Said::Other,
        };
        let is_plain = match &said {
            Said::Text(_) => fields.are_only(&["type", "text"]),
            Said::Call(_) => fields.are_only(&["type", "id", "name", "input"]),
            Said::Thinking(_) | Said::Redacted | Said::Other => false,
        };
        Self { said, is_plain }
    }

    /// Whether it is a text that says nothing, which the API writes but refuses to read.
    fn is_blank(&self) -> bool {
        matches!(&self.said, Said::Text(text) if is_blank(text))
    }
}

/// The arguments of a call as the server wrote them. A tool without arguments may have none.
pub(super) fn arguments<'a>(fields: &RawObject<'a>) -> &'a str {
    match fields.get("input").map(RawValue::get) {
        None | Some("null") => "{}",
        Some(input) => input,
    }
}

impl RawObject<'_> {
    /// Whether all others say nothing that would be missed.
    fn are_only(&self, names: &[&str]) -> bool {
        self.0.iter().all(|(name, value)| {
            let (name, value) = (&**name, value.get());
            names.contains(&name) || matches!(value, "null" | "[]") || is_usual(name, value)
        })
    }
}

/// Whether a member says what is so for every call that is made here.
fn is_usual(name: &str, value: &str) -> bool {
    let caller = || serde_json::from_str::<RawObject<'_>>(value);
    name == "caller"
        && caller().is_ok_and(|caller| caller.text("type") == "direct" && caller.0.len() == 1)
}

/// The message that blocks are. `json` writes one of them, by its number, as the server did.
///
/// The words of the server are kept only if the message would lose something: thoughts and what only
/// this API knows, and an order other than texts first and calls then.
pub(super) fn message(
    parts: Vec<Part>,
    json: impl Fn(usize) -> String,
    refusal: Option<Box<str>>,
) -> AiMessage {
    let first_call = parts.iter().position(|part| matches!(part.said, Said::Call(_)));
    let is_late = |at: usize, part: &Part| {
        matches!(part.said, Said::Text(_)) && !part.is_blank() && first_call.is_some_and(|c| c < at)
    };
    let is_kept = parts.iter().enumerate().any(|(at, part)| !part.is_plain || is_late(at, part));
    let content = if is_kept { content(&parts, json) } else { None };
    let mut builder = AiMessage::builder();
    let (mut text, mut thinking, mut calls) = (None::<String>, String::new(), Vec::new());
    for part in parts {
        match (part.said, &mut text) {
            (Said::Text(more), None) => text = Some(more),
            (Said::Text(more), Some(text)) => text.push_str(&more),
            (Said::Thinking(more), _) => thinking.push_str(&more),
            (Said::Call(call), _) => calls.push(call),
            (Said::Redacted | Said::Other, _) => {}
        }
    }
    let needs_text = calls.is_empty() && refusal.is_none();
    if let Some(text) = text.filter(|text| needs_text || !text.is_empty()) {
        builder = builder.text(text);
    }
    if !thinking.is_empty() {
        builder = builder.thinking(thinking);
    }
    if let Some(refusal) = refusal {
        builder = builder.refusal(refusal);
    }
    if let Some(content) = content {
        builder = builder.provider_content(content);
    }
    builder.tool_calls(calls).build()
}

/// The blocks as the server wrote them, but for what it would not take back: texts that say nothing,
/// and thoughts at the end, which are those of an answer that was cut off.
fn content(parts: &[Part], json: impl Fn(usize) -> String) -> Option<ProviderContent> {
    let is_thought = |part: &Part| matches!(part.said, Said::Thinking(_) | Said::Redacted);
    let last = parts.iter().rposition(|part| !part.is_blank() && !is_thought(part))?;
    let mut list = String::from("[");
    let parts = parts.iter().enumerate().take(last + 1);
    for (at, part) in parts.filter(|(_, part)| !part.is_blank()) {
        if list.len() > 1 {
            list.push(',');
        }
        match &part.said {
            Said::Call(call) if !is_accepted(call) => list.push_str(&rewritten(call)?),
            _ => list.push_str(&json(at)),
        }
    }
    list.push(']');
    ProviderContent::from_json(DIALECT, list).ok()
}

/// Whether the API takes a call back as it is: by its own rules it always does.
fn is_accepted(call: &ToolCall) -> bool {
    let input = object(call.arguments());
    block::id(call.id()) == call.id()
        && input.is_some_and(|input| input.get() == call.arguments().trim_ascii())
}

/// A call as a message without words of the server would have it.
fn rewritten(call: &ToolCall) -> Option<String> {
    let input = object_or_empty(call.arguments());
    let call = Block::ToolUse { id: block::id(call.id()), name: call.name(), input };
    serde_json::to_string(&call).ok()
}
