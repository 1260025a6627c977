//! Streamed answers of chat completions, event by event.

use super::calls::Calls;
use crate::http::{Answer, Framing};
use crate::openai::extensions::{Details, MessageExtensions, marks_a_thought};
use crate::openai::response;
use crate::openai::wire::{Message, Parts, finish_reason, usage};
use crate::protocol::stream::{Assembly, EventError, Progress};
use crate::protocol::tolerant::{Index, Text, first};
use ai_services_core::Result;
use ai_services_core::model::{
    ChatResponse, FinishReason, ModelStreamEvent, PartialAnswer, TokenUsage,
};
use serde::Deserialize;
use serde_json::value::RawValue;

/// The data of the last event.
const DONE: &str = "[DONE]";

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow, default)]
    id: Text<'a>,
    #[serde(borrow, default)]
    model: Text<'a>,
    #[serde(borrow, default, deserialize_with = "first")]
    choices: Option<Choice<'a>>,
    #[serde(default, deserialize_with = "usage")]
    usage: Option<TokenUsage>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(default)]
    index: Index,
    #[serde(borrow, default)]
    delta: Option<Message<'a>>,
    /// The whole message, from servers that send a single event.
    #[serde(borrow, default)]
    message: Option<Box<Message<'a>>>,
    #[serde(borrow, default)]
    finish_reason: Text<'a>,
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
        let chunk: Chunk<'_> = serde_json::from_str(data).map_err(EventError::Unreadable)?;
        if chunk.error.is_some() || (chunk.choices.is_none() && is_error(data)) {
            return Err(EventError::Reported);
        }
        keep_first(&mut self.id, chunk.id);
        keep_first(&mut self.model, chunk.model);
        if let Some(usage) = chunk.usage {
            self.usage = usage;
        }
        let Some(choice) = chunk.choices.filter(Choice::is_first) else {
            return Ok(Progress::More);
        };
        if let Some(delta) = choice.delta.or(choice.message.map(|message| *message)) {
            self.add_delta(delta, emit)?;
        }
        if let Some(reason) = finish_reason(choice.finish_reason) {
            self.finish_reason = Some(reason);
        }
        Ok(Progress::More)
    }

    fn is_complete(&self) -> bool {
        self.finish_reason.is_some()
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
    fn add_delta(
        &mut self,
        mut delta: Message<'_>,
        emit: &mut dyn FnMut(ModelStreamEvent),
    ) -> Result<(), EventError> {
        if let Some(thinking) = delta.take_thinking() {
            self.thinking.push_str(&thinking);
            emit(ModelStreamEvent::Thinking(thinking.into_owned()));
        }
        if let Some(refusal) = delta.take_refusal() {
            self.refusal.push_str(&refusal);
        }
        if let Some(text) = delta.content.text {
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
        for call in delta.tool_calls {
            if let Some(delta) = self.calls.add(call)? {
                emit(ModelStreamEvent::ToolCall(delta));
            }
        }
        Ok(())
    }
}

impl Choice<'_> {
    /// Returns whether this is the first of several choices.
    fn is_first(&self) -> bool {
        self.index.0.is_none_or(|index| index == 0)
    }
}

/// Returns whether an event without choices is an error in the form of vLLM.
fn is_error(data: &str) -> bool {
    #[derive(Deserialize)]
    struct Kind<'a> {
        #[serde(borrow, default)]
        object: Text<'a>,
    }
    let kind = serde_json::from_str::<Kind<'_>>(data);
    kind.is_ok_and(|kind| kind.object.0.as_deref() == Some("error"))
}

/// Keeps the first value that is not empty. Every event repeats it.
fn keep_first(kept: &mut Option<Box<str>>, text: Text<'_>) {
    if kept.is_none() {
        *kept = text.into_some().map(Into::into);
    }
}
