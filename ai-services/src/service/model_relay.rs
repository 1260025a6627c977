//! Relays the stream of a model to the stream of the call.

use super::guards::{Channel, ChunkGuards};
use super::moderation::PendingModeration;
use super::stream::{EventQueue, StreamItem};
use crate::model::{CachedCopy, ChatResponse, ModelStreamEvent, ToolCallDelta};
use crate::{Error, ErrorKind, Result};
use ai_services_core::trace::StreamClock;
use futures_util::stream::{BoxStream, StreamExt};
use std::pin::pin;

/// Relays the stream of a model and returns the whole answer. Nothing is relayed before the user
/// message passed its moderation.
///
/// # Errors
///
/// If the model fails, the moderation rejects the message, or a chunk guardrail blocks the answer.
pub(super) async fn relay(
    mut model: BoxStream<'_, Result<ModelStreamEvent>>,
    moderation: &mut PendingModeration<'_>,
    mut relay: ModelRelay<'_>,
) -> Result<Box<ChatResponse>> {
    let mut event = moderation.alongside(pin!(async { Ok(model.next().await) })).await?;
    relay.clock.observe(event.as_ref());
    moderation.passed().await.map_err(|error| with_usage(error, event.as_ref()))?;
    loop {
        match event {
            Some(Ok(ModelStreamEvent::Completed(response))) => {
                let copy = response.cached_copy.clone();
                return match relay.end(response).await {
                    Ok(response) => Ok(response),
                    Err(error) => Err(CachedCopy::discard_after(copy, error).await),
                };
            }
            Some(Ok(ModelStreamEvent::Text(text))) => relay.text(Channel::Text, text).await?,
            Some(Ok(ModelStreamEvent::Thinking(text))) => {
                relay.emit(StreamItem::Thinking(text)).await;
            }
            Some(Ok(ModelStreamEvent::ToolCall(delta))) => relay.tool_call(delta).await?,
            Some(Err(error)) => return Err(error),
            None => return Err(unexpected_end()),
        }
        event = model.next().await;
        relay.clock.observe(event.as_ref());
    }
}

/// Adds the usage of an answer that arrived, complete or failed, before its message was rejected.
fn with_usage(error: Error, event: Option<&Result<ModelStreamEvent>>) -> Error {
    match event {
        Some(Ok(ModelStreamEvent::Completed(response))) => error.with_usage(response.usage),
        Some(Err(failed)) => match failed.usage() {
            Some(usage) => error.with_usage(*usage),
            None => error,
        },
        _ => error,
    }
}

/// The relay of one answer: its destination, its checks and its state.
pub(super) struct ModelRelay<'a> {
    /// `None` if the answer is delivered after all checks.
    queue: Option<&'a EventQueue>,
    guards: ChunkGuards<'a>,
    answer_tool: AnswerToolCall<'a>,
    clock: StreamClock,
}

/// The call of the tool whose arguments are the answer. Its arguments are relayed as text.
#[derive(Default)]
struct AnswerToolCall<'a> {
    name: Option<&'a str>,
    /// The index of the call among the tool calls of the answer.
    index: Option<usize>,
    /// `true` if text was relayed before the call.
    follows_text: bool,
}

impl<'a> ModelRelay<'a> {
    /// Creates the relay of one answer. `answer_tool` is the tool whose arguments are the answer.
    pub(super) fn new(
        queue: Option<&'a EventQueue>,
        guards: ChunkGuards<'a>,
        answer_tool: Option<&'a str>,
        clock: StreamClock,
    ) -> Self {
        let answer_tool = AnswerToolCall { name: answer_tool, ..AnswerToolCall::default() };
        Self { queue, guards, answer_tool, clock }
    }

    async fn emit(&mut self, item: StreamItem) {
        if let Some(queue) = self.queue {
            queue.send(item).await;
        }
    }

    async fn text(&mut self, channel: Channel, text: String) -> Result<()> {
        let released = self.guards.check(channel, text)?;
        self.emit_text(channel, released).await;
        Ok(())
    }

    async fn emit_text(&mut self, channel: Channel, text: String) {
        // Text next to a tool whose arguments are the answer is not part of the answer.
        let is_extra = channel == Channel::Text && self.answer_tool.index.is_some();
        if !text.is_empty() && !is_extra {
            self.answer_tool.follows_text |= channel == Channel::Text;
            self.emit(StreamItem::Text(text)).await;
        }
    }

    async fn tool_call(&mut self, delta: ToolCallDelta) -> Result<()> {
        if self.answer_tool.voids_text(&delta) {
            self.emit(StreamItem::Restarted).await;
        }
        if self.answer_tool.index == Some(delta.index) {
            return self.text(Channel::AnswerTool, delta.arguments).await;
        }
        self.emit(StreamItem::ToolCall(delta)).await;
        Ok(())
    }

    /// Relays the rest of each channel and returns the whole answer with the rewrites of the guards.
    async fn end(mut self, response: Box<ChatResponse>) -> Result<Box<ChatResponse>> {
        for channel in [Channel::Text, Channel::AnswerTool] {
            let rest = self.guards.finish(channel);
            let rest = rest.map_err(|error| error.with_usage(response.usage))?;
            self.emit_text(channel, rest).await;
        }
        self.guards.apply_to(response, self.answer_tool.name)
    }
}

impl AnswerToolCall<'_> {
    /// Returns `true` if the call starts with this piece, after text that is not part of the answer.
    fn voids_text(&mut self, delta: &ToolCallDelta) -> bool {
        let starts =
            self.index.is_none() && self.name.is_some() && delta.name.as_deref() == self.name;
        if starts {
            self.index = Some(delta.index);
        }
        starts && self.follows_text
    }
}

fn unexpected_end() -> Error {
    Error::new(ErrorKind::InvalidResponse, "the model's stream ended without an answer")
}
