//! The parts of an answer: as text, thinking and calls, and as raw JSON where these would lose
//! information.

use super::PROTOCOL;
use super::calls::Ids;
use super::wire::{Part, compact};
use crate::protocol::in_place::read_str;
use crate::protocol::stream::{EventError, MAX_CALLS};
use ai_services_core::message::{AiMessage, ProviderContent, ToolCall};
use ai_services_core::model::{ModelStreamEvent, PartialAnswer, ToolCallDelta};
use serde_json::json;
use serde_json::value::RawValue;

/// The parts received so far.
#[derive(Debug)]
pub(super) struct AnswerParts {
    text: String,
    thinking: String,
    calls: Vec<ToolCall>,
    blocks: Vec<Block>,
    ids: Ids,
}

/// A part. Texts are stored once: a block has only the number of bytes that belong to it.
#[derive(Debug)]
enum Block {
    Thought(usize),
    Text(usize),
    Call(Box<str>),
    /// A part that a message cannot represent, with the lengths of its texts.
    Raw {
        json: Box<str>,
        text: usize,
        thinking: usize,
    },
}

impl AnswerParts {
    pub(super) fn new(ids: Ids) -> Self {
        let (text, thinking) = (String::new(), String::new());
        Self { text, thinking, calls: Vec::new(), blocks: Vec::new(), ids }
    }

    pub(super) fn has_calls(&self) -> bool {
        !self.calls.is_empty()
    }

    /// Adds a part, and emits its pieces.
    pub(super) fn add(
        &mut self,
        raw: &RawValue,
        emit: &mut dyn FnMut(ModelStreamEvent),
    ) -> Result<(), EventError> {
        let mut part = None::<Part<'_>>;
        read_str(raw.get(), &mut part).map_err(EventError::Unreadable)?;
        let Some(part) = &mut part else { return Ok(()) };
        let (mut text, mut thinking) = (0, 0);
        if let Some(piece) = part.text.take().filter(|text| !text.is_empty()) {
            if part.is_thought {
                thinking = piece.len();
                self.thinking.push_str(&piece);
                emit(ModelStreamEvent::Thinking(piece.into_owned()));
            } else {
                text = piece.len();
                self.text.push_str(&piece);
                emit(ModelStreamEvent::Text(piece.into_owned()));
            }
        }
        let is_call = part.call.is_some();
        if let Some(call) = &part.call {
            if self.calls.len() >= MAX_CALLS {
                return Err(EventError::TooManyCalls);
            }
            let index = self.calls.len();
            let id = call.id.0.as_deref().filter(|id| !id.is_empty()).map(str::to_owned);
            let id = id.unwrap_or_else(|| self.ids.of(index));
            let name = call.name.0.as_deref().unwrap_or_default();
            let call = ToolCall::new(id, name, call.arguments());
            let delta = ToolCallDelta::new(index).with_id(call.id()).with_name(call.name());
            emit(ModelStreamEvent::ToolCall(delta.with_arguments(call.arguments())));
            self.calls.push(call);
        }
        let is_plain_call = is_call && text + thinking == 0;
        match (part.has_more, is_plain_call) {
            (false, true) => self.blocks.push(Block::Call(compact(raw.get()).into())),
            (false, false) if !is_call => self.add_text(text, thinking),
            _ => {
                let json = compact(raw.get()).into();
                self.blocks.push(Block::Raw { json, text, thinking });
            }
        }
        Ok(())
    }

    /// Appends text to the block that it continues. The split of an answer into pieces is
    /// irrelevant.
    fn add_text(&mut self, text: usize, thinking: usize) {
        match (self.blocks.last_mut(), text, thinking) {
            (_, 0, 0) => {}
            (Some(Block::Text(own)), more, 0) => *own += more,
            (Some(Block::Thought(own)), 0, more) => *own += more,
            (_, text, 0) => self.blocks.push(Block::Text(text)),
            (_, _, thinking) => self.blocks.push(Block::Thought(thinking)),
        }
    }

    /// Returns whether the message alone would lose a signature or the order of the parts.
    fn needs_raw_parts(&self) -> bool {
        let rank = |block: &Block| match block {
            Block::Thought(_) => Some(0),
            Block::Text(_) => Some(1),
            Block::Call(_) => Some(2),
            Block::Raw { .. } => None,
        };
        let ranks: Option<Vec<u8>> = self.blocks.iter().map(rank).collect();
        ranks.is_none_or(|ranks| !ranks.is_sorted())
    }

    /// Returns the raw parts as a JSON list. Parts that continue each other are joined.
    fn raw_parts(&self) -> String {
        let (mut text, mut thinking) = (&*self.text, &*self.thinking);
        let mut list = String::from("[");
        for (index, block) in self.blocks.iter().enumerate() {
            if index > 0 {
                list.push(',');
            }
            match block {
                Block::Text(length) => {
                    list.push_str(&json!({ "text": take(&mut text, *length) }).to_string());
                }
                Block::Thought(length) => {
                    let thought = take(&mut thinking, *length);
                    list.push_str(&json!({ "text": thought, "thought": true }).to_string());
                }
                Block::Call(json) => list.push_str(json),
                Block::Raw { json, text: own, thinking: thought } => {
                    take(&mut text, *own);
                    take(&mut thinking, *thought);
                    list.push_str(json);
                }
            }
        }
        list.push(']');
        list
    }

    pub(super) fn into_message(self) -> AiMessage {
        let raw_parts = self.needs_raw_parts().then(|| self.raw_parts());
        // The list is assembled from JSON, so it is valid JSON.
        let raw_parts =
            raw_parts.and_then(|parts| ProviderContent::from_json(PROTOCOL, parts).ok());
        let mut builder = AiMessage::builder().tool_calls(self.calls);
        if !self.text.is_empty() {
            builder = builder.text(self.text);
        }
        if !self.thinking.is_empty() {
            builder = builder.thinking(self.thinking);
        }
        if let Some(raw_parts) = raw_parts {
            builder = builder.provider_content(raw_parts);
        }
        builder.build()
    }

    pub(super) fn into_partial(self) -> PartialAnswer {
        PartialAnswer::new(self.text).with_thinking(self.thinking).with_tool_calls(self.calls)
    }
}

/// Removes the next bytes of a text. They end at a character boundary.
fn take<'a>(text: &mut &'a str, length: usize) -> &'a str {
    let (taken, rest) = text.split_at_checked(length).unwrap_or((*text, ""));
    *text = rest;
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(parts: &[&str]) -> AiMessage {
        let mut answer = AnswerParts::new(Ids::random());
        for part in parts {
            let raw = RawValue::from_string((*part).to_owned()).unwrap();
            answer.add(&raw, &mut |_| {}).unwrap();
        }
        answer.into_message()
    }

    fn raw_parts(parts: &[&str]) -> Option<String> {
        Some(message(parts).provider_content()?.json().to_owned())
    }

    const THOUGHT: &str = r#"{"text":"hm","thought":true}"#;
    const TEXT: &str = r#"{"text":"a"}"#;
    const CALL: &str = r#"{"functionCall":{"name":"f","args":{}}}"#;

    #[test]
    fn plain_answer_needs_no_raw_parts() {
        assert_eq!(raw_parts(&[]), None);
        assert_eq!(raw_parts(&[THOUGHT, TEXT, TEXT, CALL, CALL]), None);
        assert_eq!(raw_parts(&[r#"{"text":""}"#, CALL, "{}", "null"]), None);
        let message = message(&[THOUGHT, TEXT, TEXT, CALL]);
        assert_eq!((message.thinking(), message.text()), (Some("hm"), Some("aa")));
        assert_eq!(message.tool_calls().len(), 1);
    }

    #[test]
    fn signatures_stay_on_their_part_and_other_parts_are_joined() {
        let signed = r#"{ "text": "é b", "thoughtSignature": "c2ln" }"#;
        let kept = raw_parts(&[THOUGHT, THOUGHT, TEXT, TEXT, signed, TEXT, CALL]).unwrap();
        let expected = [
            r#"{"text":"hmhm","thought":true}"#,
            r#"{"text":"aa"}"#,
            r#"{"text":"é b","thoughtSignature":"c2ln"}"#,
            TEXT,
            CALL,
        ];
        assert_eq!(kept, format!("[{}]", expected.join(",")));
        let own = message(&[TEXT, signed, TEXT]);
        assert_eq!(own.text(), Some("aé ba"));
    }

    #[test]
    fn unusual_order_is_kept() {
        assert_eq!(raw_parts(&[CALL, TEXT]), Some(format!("[{CALL},{TEXT}]")));
        assert!(raw_parts(&[TEXT, THOUGHT]).is_some());
        let image = r#"{"inlineData":{"mimeType":"image/png","data":"AAAA"}}"#;
        assert_eq!(raw_parts(&[TEXT, image]), Some(format!("[{TEXT},{image}]")));
    }
}
