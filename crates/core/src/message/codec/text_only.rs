//! Messages that are only a text, in the exact form that is written.

use super::text::WireText;
use crate::message::{AiMessage, ChatMessage, UserMessage};

/// The JSON before and behind the text of a user message.
const USER: [&str; 2] = [r#"{"type":"USER","contents":[{"type":"TEXT","text":"#, "}]}"];

/// The JSON before and behind the text of an answer.
const AI: [&str; 2] =
    [r#"{"type":"AI","text":"#, r#","toolExecutionRequests":[],"attributes":{}}"#];

/// Reads a message that is only a text, which most stored messages are. Only the text is parsed as JSON. Returns
/// `None` for all other messages, and for the same message in another form.
pub(super) fn read(json: &str) -> Option<ChatMessage> {
    if let Some(text) = text_between(json, USER) {
        return Some(UserMessage::new(text).into());
    }
    text_between(json, AI).map(|text| AiMessage::new(text).into())
}

fn text_between<'a>(json: &'a str, [before, behind]: [&str; 2]) -> Option<WireText<'a>> {
    let text = json.strip_prefix(before)?.strip_suffix(behind)?;
    // Fails if this is more than a text, for example several fields.
    serde_json::from_str(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{ToolCall, message_from_json, message_to_json};

    #[test]
    fn written_texts_are_read() {
        for text in ["", "a", "\"}]}", "a\n\\\u{0}é🦀", "\",\"text\":\""] {
            for message in [ChatMessage::user(text), ChatMessage::ai(text)] {
                let json = message_to_json(&message).unwrap();
                assert_eq!(read(&json), Some(message), "{json}");
            }
        }
    }

    #[test]
    fn other_messages_are_left_to_the_general_reader() {
        let call = AiMessage::builder().text("a").tool_calls([ToolCall::new("1", "t", "{}")]);
        let messages: [ChatMessage; 6] = [
            call.build().into(),
            AiMessage::builder().build().into(),
            AiMessage::builder().text("a").thinking("b").build().into(),
            UserMessage::new("a").with_name("b").into(),
            UserMessage::from_contents(["a".into(), "b".into()]).into(),
            ChatMessage::system("a"),
        ];
        for message in messages {
            let json = message_to_json(&message).unwrap();
            assert_eq!((read(&json), message_from_json(&json).unwrap()), (None, message), "{json}");
        }
        for json in [
            r#"{"type":"USER","contents":[{"type":"TEXT","text":7}]}"#,
            r#"{"type":"USER","contents":[{"type":"TEXT","text":"a","text":"b"}]}"#,
            r#"{"type":"AI","text":"a","text":"b","toolExecutionRequests":[],"attributes":{}}"#,
            r#"{"type":"AI","text":"a,"toolExecutionRequests":[],"attributes":{}}"#,
        ] {
            assert_eq!(read(json), None, "{json}");
            assert!(message_from_json(json).is_err(), "{json}");
        }
    }
}
