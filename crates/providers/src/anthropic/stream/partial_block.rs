//! Blocks of a streamed answer.

use crate::anthropic::content::{AnswerBlock, BlockContent, arguments};
use crate::protocol::raw_object::RawObject;
use ai_services_core::message::ToolCall;
use serde_json::value::RawValue;

/// A block received so far.
pub(super) struct PartialBlock {
    /// Number of the block in the stream.
    pub(super) index: u64,
    /// The block of the start event, with some empty members.
    start: Box<RawValue>,
    pub(super) kind: BlockKind,
    pub(super) is_open: bool,
    is_plain: bool,
    /// The members that deltas append to, with their initial values.
    pub(super) text: String,
    pub(super) thinking: String,
    pub(super) signature: String,
    pub(super) citations: Vec<Box<RawValue>>,
    /// The input deltas of a call, without its initial input.
    pub(super) input: String,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum BlockKind {
    Text,
    Thinking,
    Redacted,
    /// A call, by its number in the answer.
    Call(usize),
    Other,
}

impl PartialBlock {
    /// Creates a block from its start event. `calls` is the number of earlier calls.
    pub(super) fn new(
        index: u64,
        start: &RawValue,
        calls: usize,
    ) -> Result<Self, serde_json::Error> {
        let fields = RawObject::of(start)?;
        let AnswerBlock { content, is_plain } = AnswerBlock::of(&fields);
        let kind = match content {
            BlockContent::Text(_) => BlockKind::Text,
            BlockContent::Thinking(_) => BlockKind::Thinking,
            BlockContent::Call(_) => BlockKind::Call(calls),
            BlockContent::Redacted => BlockKind::Redacted,
            BlockContent::Other => BlockKind::Other,
        };
        Ok(Self {
            index,
            is_open: true,
            is_plain,
            kind,
            text: fields.text("text").into_owned(),
            thinking: fields.text("thinking").into_owned(),
            signature: fields.text("signature").into_owned(),
            citations: Vec::new(),
            input: String::new(),
            start: start.to_owned(),
        })
    }

    /// Returns the text of a text block.
    pub(super) fn answer_text(&self) -> Option<&str> {
        (self.kind == BlockKind::Text).then_some(&*self.text)
    }

    /// Returns the text of a thinking block.
    pub(super) fn thinking_text(&self) -> Option<&str> {
        (self.kind == BlockKind::Thinking).then_some(&*self.thinking)
    }

    /// Returns the id and the name of a call.
    pub(super) fn id_and_name(&self) -> (Box<str>, Box<str>) {
        let fields = self.fields();
        (fields.text("id").into(), fields.text("name").into())
    }

    /// Returns the initial input.
    pub(super) fn first_input(&self) -> String {
        arguments(&self.fields()).to_owned()
    }

    /// Returns the call, if the block is one.
    pub(super) fn call(&self) -> Option<ToolCall> {
        let BlockKind::Call(_) = self.kind else { return None };
        let (id, name) = self.id_and_name();
        Some(ToolCall::new(id, name, self.input.as_str()))
    }

    /// Returns the block in the form of whole answers.
    pub(super) fn to_answer_block(&self) -> AnswerBlock {
        let content = match self.kind {
            BlockKind::Text => BlockContent::Text(self.text.clone()),
            BlockKind::Thinking => BlockContent::Thinking(self.thinking.clone()),
            BlockKind::Call(_) => self.call().map_or(BlockContent::Other, BlockContent::Call),
            BlockKind::Redacted => BlockContent::Redacted,
            BlockKind::Other => BlockContent::Other,
        };
        AnswerBlock { content, is_plain: self.is_plain && self.citations.is_empty() }
    }

    /// Returns the block as JSON, with all deltas merged.
    pub(super) fn json(&self) -> String {
        let text = |text: &str| (!text.is_empty()).then(|| quoted(text));
        let input = serde_json::from_str::<&RawValue>(&self.input).ok();
        let citations = self.citations.iter().map(|citation| citation.get()).collect::<Vec<_>>();
        let grown = [
            ("text", text(&self.text)),
            ("thinking", text(&self.thinking)),
            ("signature", text(&self.signature)),
            ("input", input.map(|input| input.get().to_owned())),
            ("citations", (!citations.is_empty()).then(|| format!("[{}]", citations.join(",")))),
        ];
        let fields = self.fields();
        let mut json = String::from("{");
        let mut write = |name: &str, value: &str| {
            json.push_str(if json.len() > 1 { "," } else { "" });
            json.push_str(&quoted(name));
            json.push(':');
            json.push_str(value);
        };
        for (name, value) in &fields.0 {
            let grown = grown.iter().find(|(own, _)| own == name);
            let grown = grown.and_then(|(_, value)| value.as_deref());
            write(name, grown.unwrap_or(value.get()));
        }
        for (name, value) in &grown {
            if let (Some(value), None) = (value, fields.get(name)) {
                write(name, value);
            }
        }
        json.push('}');
        json
    }

    fn fields(&self) -> RawObject<'_> {
        // The JSON was parsed at the start.
        RawObject::of(&self.start).unwrap_or_default()
    }
}

/// Encodes a string as JSON. Strings always serialize.
fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_else(|_| "\"\"".to_owned())
}
