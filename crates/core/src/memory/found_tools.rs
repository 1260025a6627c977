//! The tools that searches have found in a conversation.
//!
//! A result of a search names the tools in an attribute. The user message of each later turn carries the names, so that
//! they outlive the messages that a window evicts. The newest attribute counts.

use super::attribute;
use crate::message::{Attributes, ChatMessage};
use serde_json::Value;

/// The attribute that contains the names, separated by spaces.
const ATTRIBUTE: &str = "ai_services.found_tools";

/// Returns the attributes of the result of a search.
#[doc(hidden)]
#[must_use]
pub fn found_tools_attribute(names: &[&str]) -> Attributes {
    [(ATTRIBUTE.to_owned(), Value::from(names.join(" ")))].into_iter().collect()
}

/// Returns the names that the history carries, and those in the results of this turn, in the order in which the tools
/// were found.
#[doc(hidden)]
#[must_use]
pub fn found_tools<'a>(carried: Option<&'a str>, turn: &'a [ChatMessage]) -> Vec<&'a str> {
    let found = turn.iter().flat_map(found_tools_of);
    let mut names = Vec::new();
    for name in carried.into_iter().flat_map(str::split_whitespace).chain(found) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Returns the names of the tools that a result of a search has found. Other messages have none.
#[doc(hidden)]
pub fn found_tools_of(message: &ChatMessage) -> impl Iterator<Item = &str> {
    let names = match message {
        ChatMessage::ToolResult(result) => {
            result.attributes().and_then(|attributes| attributes.get(ATTRIBUTE)?.as_str())
        }
        _ => None,
    };
    names.into_iter().flat_map(str::split_whitespace)
}

/// Marks a turn with the names that were found up to its end.
#[doc(hidden)]
pub fn mark_found_tools(turn: &mut [ChatMessage], names: &str) {
    attribute::set(turn, ATTRIBUTE, names);
}

/// Returns the names that the newest marked turn carries.
pub(super) fn newest<'a>(
    history: impl DoubleEndedIterator<Item = &'a ChatMessage>,
) -> Option<&'a str> {
    history.rev().find_map(|message| attribute::of(message, ATTRIBUTE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::ToolResult;

    fn result(names: &[&str]) -> ChatMessage {
        ToolResult::new("1", "search", "found").with_attributes(found_tools_attribute(names)).into()
    }

    #[test]
    fn names_keep_the_order_in_which_they_were_found() {
        let turn = [ChatMessage::user("x"), result(&["b", "a"]), result(&["a", "c"])];
        assert_eq!(found_tools(Some("d b"), &turn), ["d", "b", "a", "c"]);
        assert!(found_tools(None, &[ChatMessage::user("x")]).is_empty());
    }

    #[test]
    fn newest_mark_counts() {
        let mut history = [ChatMessage::user("a"), ChatMessage::user("b")];
        mark_found_tools(&mut history[..1], "first");
        mark_found_tools(&mut history[1..], "first second");
        assert_eq!(newest(history.iter()), Some("first second"));
    }
}
