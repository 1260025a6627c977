//! Streamed answers of chat completions, event by event.

use super::calls::Calls;
use crate::http::{Answer, Framing};
use crate::openai::extensions::{Details, MessageExtensions, marks_a_thought};
use crate::openai::response;
use crate::openai::wire::{Message, Parts, Usage, finish_reason};
use crate::protocol::in_place::{First, object, read_str};
use crate::protocol::stream::{Assembly, EventError, Progress};
use crate::protocol::tolerant::{Index, Text};
use ai_services_core::Result;
use ai_services_core::model::{
    ChatResponse, FinishReason, ModelStreamEvent, PartialAnswer, TokenUsage,
};
use serde_json::value::RawValue;
use std::mem::take;

/// The data of the last event.
const DONE: &str = "[DONE]";
/// Type of an error in the form of vLLM, in an event without choices.
const ERROR: &str = "error";
/// Type of the last event of Perplexity.
const LAST: &str = "chat.completion.done";

object! {
    struct Chunk<'a> {
        object: Text<'a> = "object",
        id: Text<'a> = "id",
        model: Text<'a> = "model",
        choices: First<Choice<'a>> = "choices",
        usage: Option<Usage> = "usage",
        error: Option<&'a RawValue> = "error",
    }

    struct Choice<'a> {
        index: Index = "index",
        delta: Option<Message<'a>> = "delta",
        /// The whole message, from servers that send a single event.
        message: Option<Box<Message<'a>>> = "message",
        finish_reason: Text<'a> = "finish_reason",
    }
}

/// The answer received so far.
#[derive(Default)]
pub(in crate::openai) struct ChatAssembly {
    id: Option<Box<str>>,
    model: Option<Box<str>>,
    text: Option<String>,
    thinking: String,
    refusal: String,
    calls: Calls,
    details: Details,
    extra_content: Option<Box<RawValue>>,
    usage: TokenUsage,
    finish_reason: Option<FinishReason>,
    /// `true` after the event that precedes [`DONE`], which Perplexity and others do not send.
    has_end: bool,
}

impl Assembly for ChatAssembly {
    const FRAMING: Framing = Framing::Events;

    fn new() -> Self {
        Self::default()
    }

    fn add(
        &mut self,
        data: &str,
        emit: &mut dyn FnMut(ModelStreamEvent),
    ) -> Result<Progress, EventError> {
        let data = data.trim_ascii();
        match data {
            "" => return Ok(Progress::More),
            DONE => return Ok(Progress::Done),
            _ => {}
        }
        let mut chunk = Chunk::default();
        read_str(data, &mut chunk).map_err(EventError::Unreadable)?;
        if chunk.error.is_some() || (chunk.choices.0.is_none() && chunk.is(ERROR)) {
            return Err(EventError::Reported);
        }
        let is_last = chunk.usage.is_some() || chunk.is(LAST);
        keep_first(&mut self.id, &mut chunk.id);
        keep_first(&mut self.model, &mut chunk.model);
        if let Some(usage) = &chunk.usage {
            self.usage = usage.into();
        }
        let has_ended = match &mut chunk.choices.0 {
            Some(choice) if choice.is_first() => self.add_choice(choice, emit)?,
            _ => self.is_complete(),
        };
        self.has_end = has_ended && is_last;
        Ok(Progress::More)
    }

    fn is_complete(&self) -> bool {
        self.finish_reason.is_some()
    }

    fn ends_with_body(&self) -> bool {
        self.has_end
    }

    fn usage(&self) -> TokenUsage {
        self.usage
    }

    fn into_response(self, attempts: u32) -> ChatResponse {
        let some = |text: String| Some(text).filter(|text| !text.is_empty()).map(Into::into);
        let details = self.details.into_list();
        let extensions = MessageExtensions {
            reasoning_details: details.as_deref(),
            extra_content: self.extra_content.as_deref(),
            calls: self.calls.extra_contents(),
        };
        let parts = Parts {
            extensions: extensions.into_content(),
            text: self.text.map(Into::into),
            thinking: some(self.thinking),
            refusal: some(self.refusal),
            calls: self.calls.into_calls(),
        };
        ChatResponse {
            usage: self.usage,
            finish_reason: self.finish_reason,
            model: self.model,
            id: self.id,
            attempts: Some(attempts),
            ..ChatResponse::new(parts)
        }
    }

    fn into_partial(self) -> PartialAnswer {
        PartialAnswer::new(self.text.unwrap_or_default())
            .with_thinking(self.thinking)
            .with_tool_calls(self.calls.into_calls())
    }

    fn read_whole(answer: &Answer) -> Result<ChatResponse> {
        response::read(answer)
    }
}

impl ChatAssembly {
    /// Adds a piece of the answer. Returns whether it has the finish reason.
    fn add_choice(
        &mut self,
        choice: &mut Choice<'_>,
        emit: &mut dyn FnMut(ModelStreamEvent),
    ) -> Result<bool, EventError> {
        // Perplexity repeats the whole message in its last event.
        let message = choice.message.as_deref_mut().filter(|_| self.is_empty());
        if let Some(delta) = choice.delta.as_mut().or(message) {
            self.add_delta(delta, emit)?;
        }
        let Some(reason) = finish_reason(take(&mut choice.finish_reason)) else { return Ok(false) };
        self.finish_reason = Some(reason);
        Ok(true)
    }

    /// Returns whether no piece has arrived.
    fn is_empty(&self) -> bool {
        self.text.as_ref().is_none_or(String::is_empty)
            && self.thinking.is_empty()
            && self.refusal.is_empty()
            && self.calls.is_empty()
    }

    fn add_delta(
        &mut self,
        delta: &mut Message<'_>,
        emit: &mut dyn FnMut(ModelStreamEvent),
    ) -> Result<(), EventError> {
        if let Some(thinking) = delta.take_thinking() {
            self.thinking.push_str(&thinking);
            emit(ModelStreamEvent::Thinking(thinking.into_owned()));
        }
        if let Some(refusal) = delta.take_refusal() {
            self.refusal.push_str(&refusal);
        }
        if let Some(text) = delta.content.text.take() {
            self.text.get_or_insert_default().push_str(&text);
            if !text.is_empty() {
                emit(ModelStreamEvent::Text(text.into_owned()));
            }
        }
        if let Some(details) = delta.reasoning_details {
            self.details.add(details);
        }
        // Marks of thoughts precede the signature.
        if let Some(extra) = delta.extra_content.filter(|extra| !marks_a_thought(extra)) {
            self.extra_content = Some(extra.to_owned());
        }
        for call in delta.tool_calls.iter_mut() {
            if let Some(delta) = self.calls.add(call)? {
                emit(ModelStreamEvent::ToolCall(delta));
            }
        }
        Ok(())
    }
}

impl Chunk<'_> {
    /// Returns whether the event is of this type.
    fn is(&self, object: &str) -> bool {
        self.object.0.as_deref() == Some(object)
    }
}

impl Choice<'_> {
    /// Returns whether this is the first of several choices.
    fn is_first(&self) -> bool {
        self.index.0.is_none_or(|index| index == 0)
    }
}

/// Keeps the first value that is not empty. Every event repeats it.
fn keep_first(kept: &mut Option<Box<str>>, text: &mut Text<'_>) {
    if kept.is_none() {
        *kept = take(text).into_some().map(Into::into);
    }
}
