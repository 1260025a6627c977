//! A conversation as text for the model that summarizes it.

use crate::message::{ChatMessage, Content, ToolCall};
use serde_json::{Value, json};
use std::fmt::Write;

/// Returns the messages, one line of JSON for each.
pub(super) fn transcript<'a>(
    earlier: Option<&str>,
    messages: impl IntoIterator<Item = &'a ChatMessage>,
) -> String {
    let mut text = String::new();
    if let Some(earlier) = earlier {
        text.push_str("The summary so far:\n");
        text.push_str(earlier);
        text.push_str("\n\n");
    }
    text.push_str("The conversation:\n");
    for line in messages.into_iter().filter_map(line) {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{line}");
    }
    text
}

fn line(message: &ChatMessage) -> Option<Value> {
    match message {
        ChatMessage::System(_) | ChatMessage::Custom(_) => None,
        ChatMessage::User(user) => Some(json!({ "user": texts(user.contents()) })),
        ChatMessage::Ai(ai) => {
            let text = ai.text().or(ai.refusal()).unwrap_or_default();
            if ai.tool_calls().is_empty() {
                return Some(json!({ "assistant": text }));
            }
            let calls: Vec<_> = ai.tool_calls().iter().map(call).collect();
            Some(json!({ "assistant": text, "calls": calls }))
        }
        ChatMessage::ToolResult(result) => {
            Some(json!({ "tool": result.tool_name(), "result": texts(result.contents()) }))
        }
    }
}

fn call(call: &ToolCall) -> Value {
    json!({ "tool": call.name(), "arguments": call.arguments() })
}

fn texts(contents: &[Content]) -> String {
    let texts = contents.iter().map(|content| content.text().unwrap_or("[a file]"));
    texts.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{AiMessage, ToolResult, UserMessage};

    #[test]
    fn each_message_is_one_line_of_json() {
        let calls = [ToolCall::new("1", "weather", r#"{"city":"Oslo"}"#)];
        let picture = [Content::from("What is\nthis?"), Content::image_url("https://x.org/a.png")];
        let messages = [
            ChatMessage::system("Be brief."),
            UserMessage::from_contents(picture).into(),
            AiMessage::builder().thinking("Hm.").tool_calls(calls).build().into(),
            ToolResult::new("1", "weather", "sunny").into(),
            AiMessage::builder().text("A sun.").thinking("Aha.").build().into(),
            AiMessage::builder().refusal("Not that.").build().into(),
        ];
        let text = transcript(Some("Ann\nasked."), &messages);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "The summary so far:",
                "Ann",
                "asked.",
                "",
                "The conversation:",
                r#"{"user":"What is\nthis?\n[a file]"}"#,
                r#"{"assistant":"","calls":[{"arguments":"{\"city\":\"Oslo\"}","tool":"weather"}]}"#,
                r#"{"result":"sunny","tool":"weather"}"#,
                r#"{"assistant":"A sun."}"#,
                r#"{"assistant":"Not that."}"#,
            ]
        );
    }
}
