//! What was held back while it was said, told once it may be.

use super::outlet::{Outlet, Progress};
use crate::message::AiMessage;
use crate::model::ToolCallDelta;

/// Tells what a model said before it called tools, and its calls.
pub(crate) fn tell_round(outlet: &Outlet, message: &AiMessage) {
    tell_thinking(outlet, message);
    tell_text(outlet, message);
    for (index, call) in message.tool_calls().iter().enumerate() {
        let delta = ToolCallDelta::new(index).with_id(call.id()).with_name(call.name());
        outlet.push(Progress::ToolCall(delta.with_arguments(call.arguments())));
    }
}

/// Tells what a model thought.
pub(crate) fn tell_thinking(outlet: &Outlet, message: &AiMessage) {
    tell(outlet, message.thinking(), Progress::Thinking);
}

/// Tells a text in one piece.
pub(crate) fn tell_text(outlet: &Outlet, message: &AiMessage) {
    tell(outlet, message.text(), Progress::Text);
}

fn tell(outlet: &Outlet, text: Option<&str>, progress: fn(String) -> Progress) {
    if let Some(text) = text.filter(|text| !text.is_empty()) {
        outlet.push(progress(text.to_owned()));
    }
}
