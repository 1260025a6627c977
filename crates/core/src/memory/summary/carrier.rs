//! The place of a summary in a conversation.
//!
//! A summary is stored as an attribute of a user message: the first message of the turn that was
//! committed together with it. So it needs no row of its own, in no store. The newest attribute counts,
//! and covers everything before the oldest stored message.

use crate::memory::attribute;
use crate::message::{ChatMessage, UserMessage};

/// The attribute that contains a summary.
const ATTRIBUTE: &str = "ai_services.summary";
/// The user message in front of a summary in a request.
const QUESTION: &str = "Summarize our conversation up to this point.";

/// Returns the newest summary that these messages carry.
pub(in crate::memory) fn carried_by<'a>(
    messages: impl IntoIterator<Item = &'a ChatMessage, IntoIter: DoubleEndedIterator>,
) -> Option<&'a str> {
    messages.into_iter().rev().find_map(|message| attribute::of(message, ATTRIBUTE))
}

/// Stores a summary with the first user message.
pub(in crate::memory) fn carry(messages: &mut [ChatMessage], summary: &str) {
    attribute::set(messages, ATTRIBUTE, summary);
}

/// Returns the turn in front of the history that shows a summary to a model.
pub(in crate::memory) fn turn(summary: &str) -> [ChatMessage; 2] {
    [UserMessage::new(QUESTION).into(), ChatMessage::ai(summary)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn newest_summary_counts() {
        let mut messages = [ChatMessage::user("a"), ChatMessage::ai("b"), ChatMessage::user("c")];
        assert_eq!(carried_by(&messages), None);
        carry(&mut messages, "first");
        assert_eq!(carried_by(&messages), Some("first"));
        carry(&mut messages[1..], "second");
        assert_eq!(carried_by(&messages), Some("second"));
        assert_eq!(carried_by(&messages[..2]), Some("first"));
    }

    #[test]
    fn other_attributes_and_the_text_are_kept() {
        let attributes = [("city".to_owned(), json!("Oslo"))].into_iter().collect();
        let message = UserMessage::new("Hello!").with_name("Ann").with_attributes(attributes);
        let mut messages = [ChatMessage::from(message)];
        carry(&mut messages, "summary");
        let [ChatMessage::User(user)] = &messages else { panic!("{messages:?}") };
        assert_eq!((user.text(), user.name()), (Some("Hello!"), Some("Ann")));
        assert_eq!(user.attributes().unwrap()["city"], json!("Oslo"));
    }

    #[test]
    fn attribute_of_another_type_is_ignored() {
        let attributes = [(ATTRIBUTE.to_owned(), json!(["x"]))].into_iter().collect();
        let message = UserMessage::new("Hello!").with_attributes(attributes);
        assert_eq!(carried_by(&[ChatMessage::from(message)]), None);
    }
}
