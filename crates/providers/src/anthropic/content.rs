//! The blocks of an answer, and their conversion to a message.

use super::block::{self, Block, is_blank};
use super::message::DIALECT;
use crate::protocol::arguments::{object, object_or_empty};
use crate::protocol::raw_object::RawObject;
use ai_services_core::message::{AiMessage, ProviderContent, ToolCall};
use serde_json::value::RawValue;

/// The content of a block that messages can represent.
#[derive(Debug, PartialEq)]
pub(super) enum BlockContent {
    Text(String),
    Thinking(String),
    /// Thinking that only the API can decrypt.
    Redacted,
    Call(ToolCall),
    /// A block that messages cannot represent.
    Other,
}

/// A block of an answer.
#[derive(Debug)]
pub(super) struct AnswerBlock {
    pub(super) content: BlockContent,
    /// `true` if the block has nothing beside the content.
    pub(super) is_plain: bool,
}

impl AnswerBlock {
    /// Reads the members of a block.
    pub(super) fn of(fields: &RawObject<'_>) -> Self {
        let content = match &*fields.text("type") {
            "text" => BlockContent::Text(fields.text("text").into_owned()),
            "thinking" => BlockContent::Thinking(fields.text("thinking").into_owned()),
            "tool_use" => {
                let (id, name) = (fields.text("id"), fields.text("name"));
                BlockContent::Call(ToolCall::new(id, name, arguments(fields)))
            }
            "redacted_thinking" => BlockContent::Redacted,
            _ => BlockContent::Other,
        };
        let is_plain = match &content {
            BlockContent::Text(_) => fields.are_only(&["type", "text"]),
            BlockContent::Call(_) => fields.are_only(&["type", "id", "name", "input"]),
            BlockContent::Thinking(_) | BlockContent::Redacted | BlockContent::Other => false,
        };
        Self { content, is_plain }
    }

    /// Returns whether the block is a blank text, which the API writes but rejects in requests.
    fn is_blank(&self) -> bool {
        matches!(&self.content, BlockContent::Text(text) if is_blank(text))
    }
}

/// Returns the raw arguments of a call. A tool without parameters may have none.
pub(super) fn arguments<'a>(fields: &RawObject<'a>) -> &'a str {
    match fields.get("input").map(RawValue::get) {
        None | Some("null") => "{}",
        Some(input) => input,
    }
}

impl RawObject<'_> {
    /// Returns whether all members other than `names` are irrelevant.
    fn are_only(&self, names: &[&str]) -> bool {
        self.0.iter().all(|(name, value)| {
            let (name, value) = (&**name, value.get());
            names.contains(&name) || matches!(value, "null" | "[]") || is_usual(name, value)
        })
    }
}

/// Returns whether a member has the value of every direct call.
fn is_usual(name: &str, value: &str) -> bool {
    let caller = || serde_json::from_str::<RawObject<'_>>(value);
    name == "caller"
        && caller().is_ok_and(|caller| caller.text("type") == "direct" && caller.0.len() == 1)
}

/// Converts blocks to a message. `json` returns the raw JSON of a block by its number.
///
/// The raw blocks are kept only if the message would lose information: thinking, blocks that only
/// this API has, and an order other than texts before calls.
pub(super) fn message(
    blocks: Vec<AnswerBlock>,
    json: impl Fn(usize) -> String,
    refusal: Option<Box<str>>,
) -> AiMessage {
    let first_call = blocks.iter().position(|block| matches!(block.content, BlockContent::Call(_)));
    let is_late = |at: usize, block: &AnswerBlock| {
        matches!(block.content, BlockContent::Text(_))
            && !block.is_blank()
            && first_call.is_some_and(|c| c < at)
    };
    let is_kept =
        blocks.iter().enumerate().any(|(at, block)| !block.is_plain || is_late(at, block));
    let content = if is_kept { content(&blocks, json) } else { None };
    let mut builder = AiMessage::builder();
    let (mut text, mut thinking, mut calls) = (None::<String>, String::new(), Vec::new());
    for block in blocks {
        match (block.content, &mut text) {
            (BlockContent::Text(more), None) => text = Some(more),
            (BlockContent::Text(more), Some(text)) => text.push_str(&more),
            (BlockContent::Thinking(more), _) => thinking.push_str(&more),
            (BlockContent::Call(call), _) => calls.push(call),
            (BlockContent::Redacted | BlockContent::Other, _) => {}
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

/// Returns the raw blocks without those that the API would reject: blank texts, and thinking at the
/// end of a truncated answer.
fn content(blocks: &[AnswerBlock], json: impl Fn(usize) -> String) -> Option<ProviderContent> {
    let is_thought = |block: &AnswerBlock| {
        matches!(block.content, BlockContent::Thinking(_) | BlockContent::Redacted)
    };
    let last = blocks.iter().rposition(|block| !block.is_blank() && !is_thought(block))?;
    let mut list = String::from("[");
    let blocks = blocks.iter().enumerate().take(last + 1);
    for (at, block) in blocks.filter(|(_, block)| !block.is_blank()) {
        if list.len() > 1 {
            list.push(',');
        }
        match &block.content {
            BlockContent::Call(call) if !is_accepted(call) => list.push_str(&rewritten(call)?),
            _ => list.push_str(&json(at)),
        }
    }
    list.push(']');
    ProviderContent::from_json(DIALECT, list).ok()
}

/// Returns whether the API accepts a call unchanged. Calls of Anthropic itself always are.
fn is_accepted(call: &ToolCall) -> bool {
    let input = object(call.arguments());
    block::id(call.id()) == call.id()
        && input.is_some_and(|input| input.get() == call.arguments().trim_ascii())
}

/// Returns a call in the form of a message without provider content.
fn rewritten(call: &ToolCall) -> Option<String> {
    let input = object_or_empty(call.arguments());
    let call = Block::ToolUse { id: block::id(call.id()), name: call.name(), input };
    serde_json::to_string(&call).ok()
}
