//! Messages in the format of the cases.

use super::{Malformed, read};
use ai_services::message::{AiMessage, ChatMessage, Content, ToolCall, ToolResult, UserMessage};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
enum Written {
    System {
        text: String,
    },
    User {
        text: Option<String>,
        contents: Option<Vec<Part>>,
        name: Option<String>,
    },
    Ai {
        text: Option<String>,
        #[serde(default)]
        tool_calls: Vec<Call>,
        thinking: Option<String>,
    },
    ToolResult {
        id: Option<String>,
        tool_name: String,
        text: String,
        #[serde(default)]
        is_error: bool,
    },
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
enum Part {
    Text { text: String },
    Image { url: String },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    id: Option<String>,
    name: String,
    arguments: Option<String>,
}

/// One message.
pub(super) fn message(value: &Value) -> Result<ChatMessage, Malformed> {
    Ok(match read(value)? {
        Written::System { text } => ChatMessage::system(text),
        Written::User { text, contents, name } => {
            let parts = contents.map(|parts| parts.into_iter().map(content).collect::<Vec<_>>());
            let message = match (text, parts) {
                (Some(text), None) => UserMessage::new(text),
                (None, Some(parts)) => UserMessage::from_contents(parts),
                _ => return Err("a user message has either `text` or `contents`".into()),
            };
            match name {
                Some(name) => message.with_name(name).into(),
                None => message.into(),
            }
        }
        Written::Ai { text, tool_calls, thinking } => {
            let mut message = AiMessage::builder().tool_calls(tool_calls.into_iter().map(call));
            if let Some(text) = text {
                message = message.text(text);
            }
            if let Some(thinking) = thinking {
                message = message.thinking(thinking);
            }
            message.build().into()
        }
        Written::ToolResult { id, tool_name, text, is_error } => {
            let result = ToolResult::new(id.unwrap_or_default(), tool_name, text);
            if is_error { result.into_error().into() } else { result.into() }
        }
    })
}

/// A list of messages.
pub(super) fn messages(value: &Value) -> Result<Vec<ChatMessage>, Malformed> {
    let Some(list) = value.as_array() else { return Err("messages are not a list".into()) };
    list.iter().map(message).collect()
}

fn content(part: Part) -> Content {
    match part {
        Part::Text { text } => text.into(),
        Part::Image { url } => Content::image_url(url),
    }
}

fn call(call: Call) -> ToolCall {
    ToolCall::new(call.id.unwrap_or_default(), call.name, call.arguments.unwrap_or_default())
}
