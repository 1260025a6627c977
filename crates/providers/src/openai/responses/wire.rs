//! Parts of both whole and streamed answers.

use super::super::message::arguments;
use super::PROTOCOL;
use crate::protocol::in_place::{object, read_str};
use crate::protocol::tolerant::{Content, Text, unquoted};
use ai_services_core::message::{AiMessage, ProviderContent, ToolCall};
use ai_services_core::model::{FinishReason, TokenUsage};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// The separator of thoughts, which are paragraphs.
pub(super) const BETWEEN_THOUGHTS: &str = "\n\n";

object! {
    /// An answer, whole or at the end of a stream.
    pub(super) struct Response<'a> {
        pub(super) id: Text<'a> = "id",
        pub(super) model: Text<'a> = "model",
        pub(super) status: Text<'a> = "status",
        incomplete_details: Option<Details<'a>> = "incomplete_details",
        output: Option<Vec<&'a RawValue>> = "output",
        usage: Option<Usage> = "usage",
        pub(super) error: Option<&'a RawValue> = "error",
    }

    struct Details<'a> {
        reason: Text<'a> = "reason",
    }

    /// The known members of an item.
    pub(super) struct Item<'a> {
        kind: Text<'a> = "type",
        pub(super) id: Text<'a> = "id",
        pub(super) call_id: Text<'a> = "call_id",
        pub(super) name: Text<'a> = "name",
        arguments: Option<&'a RawValue> = "arguments",
        content: Option<&'a RawValue> = "content",
        summary: Option<&'a RawValue> = "summary",
        encrypted_content: Text<'a> = "encrypted_content",
        phase: Text<'a> = "phase",
        namespace: Text<'a> = "namespace",
        caller: Option<&'a RawValue> = "caller",
    }

    struct Usage {
        input_tokens: Option<u64> = "input_tokens",
        output_tokens: Option<u64> = "output_tokens",
        total_tokens: Option<u64> = "total_tokens",
        input_tokens_details: Option<InputDetails> = "input_tokens_details",
        output_tokens_details: Option<OutputDetails> = "output_tokens_details",
    }

    struct InputDetails {
        cached_tokens: Option<u64> = "cached_tokens",
        cache_write_tokens: Option<u64> = "cache_write_tokens",
    }

    struct OutputDetails {
        reasoning_tokens: Option<u64> = "reasoning_tokens",
    }
}

/// The outcome of an answer.
#[derive(Debug, PartialEq)]
pub(super) enum Outcome {
    /// The model stopped by itself.
    Completed,
    /// The model was stopped.
    Incomplete(FinishReason),
    Failed,
    /// The answer is not available: it was cancelled, or is still being written.
    Missing,
}

impl<'a> Response<'a> {
    /// Returns the outcome by the status of the answer.
    pub(super) fn outcome(&mut self) -> Outcome {
        match self.status.0.as_deref() {
            Some("failed") => Outcome::Failed,
            Some("cancelled" | "queued" | "in_progress") => Outcome::Missing,
            Some("incomplete") => Outcome::Incomplete(self.reason()),
            _ if self.error.is_some() => Outcome::Failed,
            _ => Outcome::Completed,
        }
    }

    /// Returns the reason of an incomplete answer.
    fn reason(&mut self) -> FinishReason {
        let reason = self.incomplete_details.take().and_then(|details| details.reason.into_some());
        match reason.as_deref() {
            Some("max_output_tokens") => FinishReason::Length,
            Some("content_filter") => FinishReason::ContentFilter,
            reason => FinishReason::Other(reason.unwrap_or("incomplete").into()),
        }
    }

    /// Returns the token usage, if the server sent it.
    pub(super) fn usage(&self) -> Option<TokenUsage> {
        self.usage.as_ref().map(TokenUsage::from)
    }

    /// Removes the items of the answer. `None` if the answer has no such member.
    pub(super) fn take_items(&mut self) -> Option<Items<'a>> {
        Some(self.output.take()?.into_iter().map(RawValue::get).collect())
    }
}

/// The items of an answer as raw JSON.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Items<'a>(Vec<&'a str>);

impl<'a> FromIterator<&'a str> for Items<'a> {
    fn from_iter<I: IntoIterator<Item = &'a str>>(items: I) -> Self {
        // Values other than objects are not items, and the API rejects them.
        Self(items.into_iter().filter(|item| item.starts_with('{')).collect())
    }
}

impl<'a> Items<'a> {
    /// Splits a JSON list into items.
    pub(super) fn read(json: &'a str) -> Option<Self> {
        let items: Vec<&RawValue> = serde_json::from_str(json).ok()?;
        Some(items.into_iter().map(RawValue::get).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the items with commas in between.
    pub(super) fn joined(&self) -> String {
        self.0.join(",")
    }

    /// Returns the items that can be parsed.
    fn parsed(&self) -> impl Iterator<Item = Item<'a>> {
        self.0.iter().filter_map(|item| Item::read(item))
    }

    /// Returns the content of all items.
    pub(super) fn content(&self) -> AnswerContent {
        let mut content = AnswerContent::default();
        self.parsed().for_each(|item| content.add(item));
        content
    }

    /// Returns whether a server without storage can read the items: reasoning is present, not only
    /// its id.
    pub(super) fn are_self_contained(&self) -> bool {
        self.parsed().all(|item| {
            item.kind() != "reasoning"
                || item.is_encrypted()
                || texts(item.content).next().is_some()
        })
    }

    /// Returns the items with each reasoning before the items that it led to: the API rejects reasoning
    /// without the item that followed it, and OpenRouter puts encrypted reasoning behind the message. `None`
    /// if the items end with other reasoning.
    fn in_order(&self) -> Option<Self> {
        let is_reasoning =
            |json: &&str| Item::read(json).is_some_and(|item| item.kind() == "reasoning");
        let is_encrypted = |json: &&str| Item::read(json).is_some_and(|item| item.is_encrypted());
        let last = self.0.iter().rposition(|item| !is_reasoning(item))?;
        let (items, late) = self.0.split_at_checked(last + 1)?;
        let start = items.iter().rposition(is_reasoning).map_or(0, |reasoning| reasoning + 1);
        let (before, after) = items.split_at_checked(start)?;
        late.iter().all(is_encrypted).then(|| Self([before, late, after].concat()))
    }

    /// Returns the items for later requests, if they can be sent back and have more than
    /// [`AnswerContent`].
    pub(super) fn to_keep(&self) -> Option<ProviderContent> {
        let mut is_plain = true;
        let mut has_call = false;
        let mut messages = 0;
        for item in self.parsed() {
            match item.kind() {
                "message" => {
                    messages += 1;
                    is_plain &= messages == 1 && !has_call && item.phase.0.is_none();
                }
                "function_call" => {
                    has_call = true;
                    is_plain &= item.caller.is_none() && item.namespace.0.is_none();
                    let written = item.arguments();
                    if arguments(&written) != &*written {
                        // Servers that parse them would reject the whole request.
                        return None;
                    }
                }
                _ => is_plain = false,
            }
        }
        let items = self.in_order().filter(|_| !is_plain)?;
        ProviderContent::from_json(PROTOCOL, format!("[{}]", items.joined())).ok()
    }
}

impl<'a> Item<'a> {
    fn read(json: &'a str) -> Option<Self> {
        let mut item = Item::default();
        read_str(json, &mut item).ok()?;
        Some(item)
    }

    fn is_encrypted(&self) -> bool {
        self.encrypted_content.0.as_ref().is_some_and(|text| !text.is_empty())
    }

    pub(super) fn kind(&self) -> &str {
        self.kind.0.as_deref().unwrap_or_default()
    }

    /// Returns the arguments.
    pub(super) fn arguments(&self) -> Cow<'a, str> {
        unquoted(self.arguments)
    }

    /// Removes the id that the result of a call refers to.
    pub(super) fn take_call_id(&mut self) -> Cow<'a, str> {
        let [call_id, id] = [&mut self.call_id, &mut self.id].map(std::mem::take);
        call_id.into_some().or(id.into_some()).unwrap_or_default()
    }
}

/// Returns the texts of a list of parts that are not empty.
fn texts(parts: Option<&RawValue>) -> impl Iterator<Item = Cow<'_, str>> {
    let parts = parts.map_or("", RawValue::get);
    let texts: Vec<Text<'_>> = if parts.starts_with('[') {
        serde_json::from_str(parts).unwrap_or_default()
    } else {
        serde_json::from_str(parts).ok().into_iter().collect()
    };
    texts.into_iter().filter_map(Text::into_some)
}

/// The content of an answer in owned form.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct AnswerContent {
    pub(super) text: Option<String>,
    pub(super) thinking: String,
    pub(super) refusal: String,
    pub(super) calls: Vec<ToolCall>,
}

impl AnswerContent {
    fn add(&mut self, mut item: Item<'_>) {
        match item.kind() {
            "message" => {
                let raw = item.content.map_or("null", RawValue::get);
                let Ok(mut content) = serde_json::from_str::<Content<'_>>(raw) else { return };
                if let Some(refusal) = content.take_refusal() {
                    self.refusal.push_str(&refusal);
                }
                if let Some(text) = content.text {
                    self.text.get_or_insert_default().push_str(&text);
                }
            }
            "reasoning" => {
                // The reasoning itself, if the server shows it, else its summary.
                let mut thoughts = texts(item.content).peekable();
                match thoughts.peek() {
                    Some(_) => thoughts.for_each(|thought| self.add_thought(&thought)),
                    None => texts(item.summary).for_each(|thought| self.add_thought(&thought)),
                }
            }
            "function_call" => {
                let arguments = item.arguments();
                let name = std::mem::take(&mut item.name).into_owned().unwrap_or_default();
                self.calls.push(ToolCall::new(item.take_call_id(), name, arguments));
            }
            // Built-in tools, and unknown items.
            _ => {}
        }
    }

    fn add_thought(&mut self, thought: &str) {
        if !self.thinking.is_empty() {
            self.thinking.push_str(BETWEEN_THOUGHTS);
        }
        self.thinking.push_str(thought);
    }

    /// Returns the message, with kept items if there are any.
    pub(super) fn into_message(self, kept_items: Option<ProviderContent>) -> AiMessage {
        let some = |text: String| Some(text).filter(|text| !text.is_empty());
        // Some servers send an empty text beside tool calls or a refusal.
        let needs_text = self.calls.is_empty() && self.refusal.is_empty();
        let mut builder = AiMessage::builder().tool_calls(self.calls);
        if let Some(text) = self.text.filter(|text| needs_text || !text.is_empty()) {
            builder = builder.text(text);
        }
        if let Some(thinking) = some(self.thinking) {
            builder = builder.thinking(thinking);
        }
        if let Some(refusal) = some(self.refusal) {
            builder = builder.refusal(refusal);
        }
        if let Some(kept_items) = kept_items {
            builder = builder.provider_content(kept_items);
        }
        builder.build()
    }

    /// Returns the finish reason of an answer that the model completed.
    pub(super) fn finish_reason(&self) -> FinishReason {
        if self.calls.is_empty() { FinishReason::Stop } else { FinishReason::ToolExecution }
    }
}

impl From<&Usage> for TokenUsage {
    fn from(usage: &Usage) -> Self {
        let (input, output) = (&usage.input_tokens_details, &usage.output_tokens_details);
        let input = input.as_ref();
        let mut tokens = Self::default()
            .with_cached_input(input.and_then(|details| details.cached_tokens))
            .with_cache_write_input(input.and_then(|details| details.cache_write_tokens))
            .with_reasoning(output.as_ref().and_then(|details| details.reasoning_tokens))
            .with_total(usage.total_tokens);
        tokens.input = usage.input_tokens;
        tokens.output = usage.output_tokens;
        tokens
    }
}
