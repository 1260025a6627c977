//! What an answer says: once in the words of this crate, and where that would lose something, in the
//! provider's own.

use super::PROTOCOL;
use super::calls::Ids;
use super::wire::{Part, compact};
use crate::protocol::stream::{EventError, MAX_CALLS};
use ai_services_core::message::{AiMessage, ProviderContent, ToolCall};
use ai_services_core::model::{ModelStreamEvent, PartialAnswer, ToolCallDelta};
use serde_json::json;
use serde_json::value::RawValue;

/// The parts of an answer so far.
#[derive(Debug)]
pub(super) struct AnswerParts {
    text: String,
    thinking: String,
    calls: Vec<ToolCall>,
    blocks: Vec<Block>,
    ids: Ids,
}

/// A part. Texts are not kept twice: a block only knows how many bytes of them are its own.
#[derive(Debug)]
enum Block {
    Thought(usize),
    Text(usize),
    Call(Box<str>),
    /// What there are no other words for, and the texts that are in it.
    Own {
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
        let part: Part<'_> = serde_json::from_str(raw.get()).map_err(EventError::Unreadable)?;
        let (mut text, mut thinking) = (0, 0);
        if let Some(said) = part.text.filter(|text| !text.is_empty()) {
            if part.is_thought {
                thinking = said.len();
                self.thinking.push_str(&said);
                emit(ModelStreamEvent::Thinking(said.into_owned()));
            } else {
                text = said.len();
                self.text.push_str(&said);
                emit(ModelStreamEvent::Text(said.into_owned()));
            }
        }
        let is_call = part.call.is_some();
        if let Some(call) = part.call {
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
                self.blocks.push(Block::Own { json, text, thinking });
            }
        }
        Ok(())
    }

    /// Adds text to the block that it continues: how an answer was cut into pieces means nothing.
    fn add_text(&mut self, text: usize, thinking: usize) {
        match (self.blocks.last_mut(), text, thinking) {
            (_, 0, 0) => {}
            (Some(Block::Text(own)), more, 0) => *own += more,
            (Some(Block::Thought(own)), 0, more) => *own += more,
            (_, text, 0) => self.blocks.push(Block::Text(text)),
            (_, _, thinking) => self.blocks.push(Block::Thought(thinking)),
        }
    }

    /// Whether the message alone would lose something: a signature, or the order of its parts.
    fn needs_own_words(&self) -> bool {
        let rank = |block: &Block| match block {
            Block::Thought(_) => Some(0),
            Block::Text(_) => Some(1),
            Block::Call(_) => Some(2),
            Block::Own { .. } => None,
        };
        let ranks: Option<Vec<u8>> = self.blocks.iter().map(rank).collect();
        ranks.is_none_or(|ranks| !ranks.is_sorted())
    }

    /// All parts as the provider wrote them, those that continue each other joined.
    fn own_words(&self) -> String {
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
                Block::Own { json, text: own, thinking: thought } => {
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
        let own_words = self.needs_own_words().then(|| self.own_words());
        // It was put together from JSON, so that it is JSON.
        let own_words =
            own_words.and_then(|words| ProviderContent::from_json(PROTOCOL, words).ok());
        let mut builder = AiMessage::builder().tool_calls(self.calls);
        if !self.text.is_empty() {
            builder = builder.text(self.text);
        }
        if !self.thinking.is_empty() {
            builder = builder.thinking(self.thinking);
        }
        if let Some(own_words) = own_words {
            builder = builder.provider_content(own_words);
        }
        builder.build()
    }

    pub(super) fn into_partial(self) -> PartialAnswer {
        PartialAnswer::new(self.text).with_thinking(self.thinking).with_tool_calls(self.calls)
    }
}

/// The next bytes of a text, which end where a character ends.
fn take<'a>(text: &mut &'a str, length: usize) -> &'a str {
    let (taken, rest) = text.split_at_checked(length).unwrap_or((*text, ""));
    *text = rest;
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(parts: &[&str]) -> AiMessage {
        let mut said = AnswerParts::new(Ids::random());
        for part in parts {
            let raw = RawValue::from_string((*part).to_owned()).unwrap();
            said.add(&raw, &mut |_| {}).unwrap();
        }
        said.into_message()
    }

    fn own_words(parts: &[&str]) -> Option<String> {
        Some(message(parts).provider_content()?.json().to_owned())
    }

    const THOUGHT: &str = r#"{"text":"hm","thought":true}"#;
    const TEXT: &str = r#"{"text":"a"}"#;
    const CALL: &str = r#"{"functionCall":{"name":"f","args":{}}}"#;

    #[test]
    fn plain_answer_needs_no_words_of_its_own() {
        assert_eq!(own_words(&[]), None);
        assert_eq!(own_words(&[THOUGHT, TEXT, TEXT, CALL, CALL]), None);
        assert_eq!(own_words(&[r#"{"text":""}"#, CALL, "{}", "null"]), None);
        let message = message(&[THOUGHT, TEXT, TEXT, CALL]);
        assert_eq!((message.thinking(), message.text()), (Some("hm"), Some("aa")));
        assert_eq!(message.tool_calls().len(), 1);
    }

    #[test]
    fn signatures_are_kept_on_their_part_and_neighbours_joined() {
        let signed = r#"{ "text": "é b", "thoughtSignature": "c2ln" }"#;
        let words = own_words(&[THOUGHT, THOUGHT, TEXT, TEXT, signed, TEXT, CALL]).unwrap();
        let expected = [
            r#"{"text":"hmhm","thought":true}"#,
            r#"{"text":"aa"}"#,
            r#"{"text":"é b","thoughtSignature":"c2ln"}"#,
            TEXT,
            CALL,
        ];
        assert_eq!(words, format!("[{}]", expected.join(",")));
        let own = message(&[TEXT, signed, TEXT]);
        assert_eq!(own.text(), Some("aé ba"));
    }

    #[test]
    fn order_is_kept_where_the_message_has_none() {
        assert_eq!(own_words(&[CALL, TEXT]), Some(format!("[{CALL},{TEXT}]")));
        assert!(own_words(&[TEXT, THOUGHT]).is_some());
        let image = r#"{"inlineData":{"mimeType":"image/png","data":"AAAA"}}"#;
        assert_eq!(own_words(&[TEXT, image]), Some(format!("[{TEXT},{image}]")));
    }
}
