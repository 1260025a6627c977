//! Stored messages as text.

use crate::render::one_line;
use crate::screen::result_text;
use ai_services::message::ChatMessage;

/// Maximum number of characters of a tool's arguments or result.
const MAX_SHOWN_CHARS: usize = 200;

/// Formats stored messages, one or more lines each.
pub(crate) fn format_messages<'a>(messages: impl IntoIterator<Item = &'a ChatMessage>) -> String {
    messages.into_iter().map(format_message).collect::<Vec<_>>().join("\n")
}

/// Formats a stored message.
fn format_message(message: &ChatMessage) -> String {
    let text = message.text().unwrap_or_default();
    match message {
        ChatMessage::User(_) => format!("user: {text}"),
        ChatMessage::Ai(ai) => {
            let mut lines = Vec::new();
            if !text.is_empty() {
                lines.push(format!("assistant: {text}"));
            }
            for call in ai.tool_calls() {
                lines.push(format!(
                    "→ {}({})",
                    call.name(),
                    one_line(call.arguments(), MAX_SHOWN_CHARS)
                ));
            }
            lines.join("\n")
        }
        ChatMessage::ToolResult(result) => {
            let mark = if result.is_error() { "✗" } else { "✓" };
            format!("  {mark} {}", one_line(&result_text(result), MAX_SHOWN_CHARS))
        }
        _ => format!("system: {text}"),
    }
}
