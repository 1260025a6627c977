//! Streamed answers of the messages API, event by event.

use super::delivery::Delivery;
use super::partial_block::{BlockKind, PartialBlock};
use crate::anthropic::content::message;
use crate::anthropic::response;
use crate::anthropic::wire::{Stop, StopDetails, Usage};
use crate::http::{Answer, Framing};
use crate::protocol::in_place::{object, read_str};
use crate::protocol::stream::{Assembly, EventError, MAX_CALLS, Progress};
use crate::protocol::tolerant::{Index, Text};
use ai_services_core::model::{
    ChatResponse, FinishReason, ModelStreamEvent, PartialAnswer, TokenUsage, ToolCallDelta,
};
use ai_services_core::{Error, ErrorKind, Result};
use serde_json::value::RawValue;

/// Maximum number of blocks in one answer. The limit bounds memory.
const MAX_BLOCKS: usize = 4096;

object! {
    struct Event<'a> {
        kind: Text<'a> = "type",
        /// Number of the block that the event belongs to.
        index: Index = "index",
        message: Option<&'a RawValue> = "message",
        content_block: Option<&'a RawValue> = "content_block",
        delta: Option<Delta<'a>> = "delta",
        usage: Option<Usage> = "usage",
        error: Option<&'a RawValue> = "error",
    }

    /// The message of the first event.
    struct Head<'a> {
        id: Text<'a> = "id",
        model: Text<'a> = "model",
        usage: Option<Usage> = "usage",
    }

    /// A piece of a block, or the end of the message.
    struct Delta<'a> {
        text: Text<'a> = "text",
        thinking: Text<'a> = "thinking",
        signature: Text<'a> = "signature",
        partial_json: Text<'a> = "partial_json",
        citation: Option<&'a RawValue> = "citation",
        stop_reason: Text<'a> = "stop_reason",
        stop_details: Option<StopDetails<'a>> = "stop_details",
    }
}

/// The answer received so far.
#[derive(Default)]
pub(in crate::anthropic) struct MessageAssembly {
    id: Option<Box<str>>,
    model: Option<Box<str>>,
    blocks: Vec<PartialBlock>,
    text: Delivery,
    thinking: Delivery,
    calls: usize,
    usage: Usage,
    finish_reason: Option<FinishReason>,
    refusal: Option<Box<str>>,
    /// `true` after the stop reason with the usage. Only `message_stop` follows, which some servers do not
    /// send.
    has_end: bool,
}

type Emit<'a> = &'a mut dyn FnMut(ModelStreamEvent);

impl Assembly for MessageAssembly {
    const FRAMING: Framing = Framing::Events;

    fn new() -> Self {
        Self::default()
    }

    fn add(&mut self, data: &str, emit: Emit<'_>) -> Result<Progress, EventError> {
        let data = data.trim_ascii();
        if data.is_empty() {
            return Ok(Progress::More);
        }
        let mut event = Event::default();
        read_str(data, &mut event).map_err(EventError::Unreadable)?;
        if event.error.is_some() || event.kind.0.as_deref() == Some("error") {
            return Err(EventError::Reported);
        }
        let mut progress = Progress::More;
        match event.kind.0.as_deref().unwrap_or_default() {
            "message_start" => self.begin(event.message)?,
            "content_block_start" => {
                if let Some(start) = event.content_block {
                    self.begin_block(event.index, start, emit)?;
                }
            }
            "content_block_delta" => self.add_delta(event.index, event.delta, emit),
            "content_block_stop" => {
                if let Some(block) = self.block(event.index) {
                    close(block, emit);
                }
            }
            "message_delta" => self.end(event.delta, event.usage),
            "message_stop" => {
                self.blocks.iter_mut().for_each(|block| close(block, emit));
                progress = Progress::Done;
            }
            // Pings, and unknown events.
            _ => {}
        }
        self.deliver(emit);
        Ok(progress)
    }

    fn is_complete(&self) -> bool {
        self.finish_reason.is_some()
    }

    fn ends_with_body(&self) -> bool {
        self.has_end && self.blocks.iter().all(|block| !block.is_open)
    }

    fn usage(&self) -> TokenUsage {
        self.usage.into()
    }

    fn into_response(self, attempts: u32) -> ChatResponse {
        let blocks = self.blocks.iter().map(PartialBlock::to_answer_block).collect();
        let json = |at: usize| self.blocks.get(at).map_or_else(String::new, PartialBlock::json);
        ChatResponse {
            usage: self.usage.into(),
            finish_reason: self.finish_reason,
            model: self.model,
            id: self.id,
            attempts: Some(attempts),
            ..ChatResponse::new(message(blocks, json, self.refusal))
        }
    }

    fn into_partial(self) -> PartialAnswer {
        let blocks = &self.blocks;
        PartialAnswer::new(self.text.delivered(blocks, PartialBlock::answer_text))
            .with_thinking(self.thinking.delivered(blocks, PartialBlock::thinking_text))
            .with_tool_calls(self.blocks.iter().filter_map(PartialBlock::call))
    }

    fn read_whole(answer: &Answer) -> Result<ChatResponse> {
        response::read(answer)
    }
}

impl MessageAssembly {
    fn begin(&mut self, message: Option<&RawValue>) -> Result<(), EventError> {
        let Some(message) = message else { return Ok(()) };
        let mut head = Head::default();
        read_str(message.get(), &mut head).map_err(EventError::Unreadable)?;
        self.id = head.id.into_some().map(Into::into);
        self.model = head.model.into_some().map(Into::into);
        self.usage.update(head.usage.unwrap_or_default());
        Ok(())
    }

    /// Returns the last block with this index.
    fn block(&mut self, index: Index) -> Option<&mut PartialBlock> {
        let index = index.0.unwrap_or(0);
        self.blocks.iter_mut().rfind(|block| block.index == index)
    }

    /// Emits the pieces that became available.
    fn deliver(&mut self, emit: Emit<'_>) {
        let Self { blocks, text, thinking, .. } = self;
        thinking.advance(blocks, PartialBlock::thinking_text, |piece| {
            emit(ModelStreamEvent::Thinking(piece));
        });
        text.advance(blocks, PartialBlock::answer_text, |piece| {
            emit(ModelStreamEvent::Text(piece));
        });
    }

    /// Adds a block. A block with the same index ends: no later event can refer to it.
    fn begin_block(
        &mut self,
        index: Index,
        start: &RawValue,
        emit: Emit<'_>,
    ) -> Result<(), EventError> {
        if let Some(earlier) = self.block(index) {
            close(earlier, emit);
        }
        let index = index.0.unwrap_or(0);
        if index >= MAX_BLOCKS as u64 || self.blocks.len() >= MAX_BLOCKS {
            let message = format!("the answer has more than {MAX_BLOCKS} blocks");
            return Err(EventError::Failed(Error::new(ErrorKind::InvalidResponse, message)));
        }
        let block = PartialBlock::new(index, start, self.calls).map_err(EventError::Unreadable)?;
        if let BlockKind::Call(call) = block.kind {
            if self.calls >= MAX_CALLS {
                return Err(EventError::TooManyCalls);
            }
            let (id, name) = block.id_and_name();
            let delta = ToolCallDelta::new(call).with_name(name);
            let delta = if id.is_empty() { delta } else { delta.with_id(id) };
            emit(ModelStreamEvent::ToolCall(delta));
            self.calls += 1;
        }
        self.blocks.push(block);
        self.has_end = false;
        Ok(())
    }

    fn add_delta(&mut self, index: Index, delta: Option<Delta<'_>>, emit: Emit<'_>) {
        let block = self.block(index).filter(|block| block.is_open);
        let (Some(block), Some(delta)) = (block, delta) else { return };
        if let (BlockKind::Text, Some(text)) = (&block.kind, delta.text.0) {
            block.text.push_str(&text);
        }
        if let (BlockKind::Thinking, Some(thinking)) = (&block.kind, delta.thinking.0) {
            block.thinking.push_str(&thinking);
        }
        if let Some(signature) = delta.signature.0 {
            block.signature.push_str(&signature);
        }
        if let Some(input) = delta.partial_json.0 {
            block.input.push_str(&input);
            if let (BlockKind::Call(call), false) = (&block.kind, input.is_empty()) {
                emit(ModelStreamEvent::ToolCall(ToolCallDelta::new(*call).with_arguments(input)));
            }
        }
        block.citations.extend(delta.citation.map(ToOwned::to_owned));
    }

    fn end(&mut self, delta: Option<Delta<'_>>, usage: Option<Usage>) {
        self.usage.update(usage.unwrap_or_default());
        let Some(Delta { stop_reason: reason, stop_details: details, .. }) = delta else { return };
        if let (Some(reason), refusal) = (Stop { reason, details }).read() {
            self.finish_reason = Some(reason);
            self.refusal = refusal;
            self.has_end = usage.is_some();
        }
    }
}

/// Ends a block. A call without input deltas has the input of its start.
fn close(block: &mut PartialBlock, emit: Emit<'_>) {
    if !std::mem::take(&mut block.is_open) {
        return;
    }
    if let (BlockKind::Call(call), true) = (&block.kind, block.input.is_empty()) {
        block.input = block.first_input();
        let delta = ToolCallDelta::new(*call).with_arguments(block.input.as_str());
        emit(ModelStreamEvent::ToolCall(delta));
    }
}
