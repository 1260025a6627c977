//! Delivery of messages that were checked as a whole first.

use super::event_queue::{EventQueue, StreamItem};
use crate::message::AiMessage;
use crate::model::ToolCallDelta;

/// Adds the thinking, the text and the tool calls of a message that calls tools.
pub(crate) fn emit_round(queue: &EventQueue, message: &AiMessage) {
    emit_thinking(queue, message);
    emit_text(queue, message);
    for (index, call) in message.tool_calls().iter().enumerate() {
        let delta = ToolCallDelta::new(index).with_id(call.id()).with_name(call.name());
        queue.push(StreamItem::ToolCall(delta.with_arguments(call.arguments())));
    }
}

/// Adds the thinking of a message in one piece.
pub(crate) fn emit_thinking(queue: &EventQueue, message: &AiMessage) {
    emit(queue, message.thinking(), StreamItem::Thinking);
}

/// Adds the text of a message in one piece.
pub(crate) fn emit_text(queue: &EventQueue, message: &AiMessage) {
    emit(queue, message.text(), StreamItem::Text);
}

fn emit(queue: &EventQueue, text: Option<&str>, item: fn(String) -> StreamItem) {
    if let Some(text) = text.filter(|text| !text.is_empty()) {
        queue.push(item(text.to_owned()));
    }
}
