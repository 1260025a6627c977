//! Streamed answers, line by line.

use super::answer::{self, Ids, Message, Reply};
use crate::http::{Answer, Framing};
use crate::protocol::in_place::read_str;
use crate::protocol::stream::{Assembly, EventError, MAX_CALLS, Progress};
use ai_services_core::Result;
use ai_services_core::message::ToolCall;
use ai_services_core::model::{
    ChatResponse, FinishReason, ModelStreamEvent, PartialAnswer, TokenUsage, ToolCallDelta,
};
use std::mem::take;

/// The answer received so far.
#[derive(Default)]
pub(super) struct OllamaAssembly {
    model: Option<Box<str>>,
    text: String,
    thinking: String,
    calls: Vec<ToolCall>,
    ids: Ids,
    usage: TokenUsage,
    finish_reason: Option<FinishReason>,
}

impl OllamaAssembly {
    fn add_message(
        &mut self,
        message: &mut Message<'_>,
        emit: &mut dyn FnMut(ModelStreamEvent),
    ) -> Result<(), EventError> {
        if let Some(thinking) = take(&mut message.thinking).into_some() {
            self.thinking.push_str(&thinking);
            emit(ModelStreamEvent::Thinking(thinking.into_owned()));
        }
        if let Some(text) = take(&mut message.content).into_some() {
            self.text.push_str(&text);
            emit(ModelStreamEvent::Text(text.into_owned()));
        }
        // Each call arrives in one piece.
        for call in message.tool_calls.iter_mut() {
            if self.calls.len() >= MAX_CALLS {
                return Err(EventError::TooManyCalls);
            }
            let call = call.take_call(&mut self.ids);
            let delta = ToolCallDelta::new(self.calls.len()).with_id(call.id());
            let delta = delta.with_name(call.name()).with_arguments(call.arguments());
            self.calls.push(call);
            emit(ModelStreamEvent::ToolCall(delta));
        }
        Ok(())
    }
}

impl Assembly for OllamaAssembly {
    const FRAMING: Framing = Framing::Lines;

    fn new() -> Self {
        Self { ids: Ids::random(), ..Self::default() }
    }

    fn add(
        &mut self,
        data: &str,
        emit: &mut dyn FnMut(ModelStreamEvent),
    ) -> Result<Progress, EventError> {
        let mut reply = Reply::default();
        read_str(data, &mut reply).map_err(EventError::Unreadable)?;
        if reply.error.is_some() {
            return Err(EventError::Reported);
        }
        if let Some(usage) = reply.usage() {
            self.usage = usage;
        }
        if self.model.is_none() {
            self.model = take(&mut reply.model).into_some().map(Into::into);
        }
        if let Some(message) = &mut reply.message {
            self.add_message(message, emit)?;
        }
        if reply.done != Some(true) {
            return Ok(Progress::More);
        }
        let reason = reply.done_reason.into_some();
        let has_calls = !self.calls.is_empty();
        self.finish_reason = Some(answer::finish_reason(reason.as_deref(), has_calls));
        Ok(Progress::Done)
    }

    fn is_complete(&self) -> bool {
        self.finish_reason.is_some()
    }

    fn usage(&self) -> TokenUsage {
        self.usage
    }

    fn into_response(self, attempts: u32) -> ChatResponse {
        ChatResponse {
            usage: self.usage,
            finish_reason: self.finish_reason,
            model: self.model,
            attempts: Some(attempts),
            ..ChatResponse::new(answer::message(self.text, self.thinking, self.calls))
        }
    }

    fn into_partial(self) -> PartialAnswer {
        PartialAnswer::new(self.text).with_thinking(self.thinking).with_tool_calls(self.calls)
    }

    fn read_whole(answer: &Answer) -> Result<ChatResponse> {
        answer::read(answer)
    }
}
