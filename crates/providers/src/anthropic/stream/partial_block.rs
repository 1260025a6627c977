//! Blocks that come in pieces.

use crate::anthropic::content::{Part, Said, arguments};
use crate::protocol::raw_object::RawObject;
use ai_services_core::message::ToolCall;
use serde_json::value::RawValue;

/// A block so far.
pub(super) struct PartialBlock {
    /// The number that the server gave.
    pub(super) index: u64,
    /// What the server said at its beginning, where some members are empty.
    start: Box<RawValue>,
    pub(super) kind: BlockKind,
    pub(super) is_open: bool,
    is_plain: bool,
    /// The members that grow, with what they began with.
    pub(super) text: String,
    pub(super) thinking: String,
    pub(super) signature: String,
    pub(super) citations: Vec<Box<RawValue>>,
    /// The input of a tool, without what it began with.
    pub(super) input: String,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum BlockKind {
    Text,
    Thinking,
    Redacted,
    /// The call of this number in the answer.
    Call(usize),
    Other,
}

impl PartialBlock {
    /// A block that begins like this. `calls` is how many calls there are before it.
    pub(super) fn new(
        index: u64,
        start: &RawValue,
        calls: usize,
    ) -> Result<Self, serde_json::Error> {
        let fields = RawObject::of(start)?;
        let Part { said, is_plain } = Part::of(&fields);
        let kind = match said {
            Said::Text(_) => BlockKind::Text,
            Said::Thinking(_) => BlockKind::Thinking,
            Said::Call(_) => BlockKind::Call(calls),
            Said::Redacted => BlockKind::Redacted,
            Said::Other => BlockKind::Other,
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

    /// Id and name of a call.
    pub(super) fn id_and_name(&self) -> (Box<str>, Box<str>) {
        let fields = self.fields();
        (fields.text("id").into(), fields.text("name").into())
    }

    /// The input that the block began with.
    pub(super) fn first_input(&self) -> String {
        arguments(&self.fields()).to_owned()
    }

    /// The call, if it is one.
    pub(super) fn call(&self) -> Option<ToolCall> {
        let BlockKind::Call(_) = self.kind else { return None };
        let (id, name) = self.id_and_name();
        Some(ToolCall::new(id, name, self.input.as_str()))
    }

    /// What the block says.
    pub(super) fn part(&self) -> Part {
        let said = match self.kind {
            BlockKind::Text => Said::Text(self.text.clone()),
            BlockKind::Thinking => Said::Thinking(self.thinking.clone()),
            BlockKind::Call(_) => self.call().map_or(Said::Other, Said::Call),
            BlockKind::Redacted => Said::Redacted,
            BlockKind::Other => Said::Other,
        };
        Part { said, is_plain: self.is_plain && self.citations.is_empty() }
    }

    /// The block as the server would have written it whole.
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
        // It was read before.
        RawObject::of(&self.start).unwrap_or_default()
    }
}

/// A text as JSON, which every text can be written as.
fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_else(|_| "\"\"".to_owned())
}
