//! The amounts that the turns of a conversation have spent.
//!
//! The sum is an attribute of the user message of each turn that was stored under a budget of the conversation. The
//! newest attribute counts.

use super::attribute;
use crate::message::ChatMessage;

/// The attribute that contains the sum.
const ATTRIBUTE: &str = "ai_services.spent";

/// Marks a turn with the sum that includes it.
pub(super) fn mark(turn: &mut [ChatMessage], sum: &str) {
    attribute::set(turn, ATTRIBUTE, sum);
}

/// Returns the sum of the newest marked turn.
pub(super) fn newest<'a>(
    history: impl DoubleEndedIterator<Item = &'a ChatMessage>,
) -> Option<&'a str> {
    history.rev().find_map(|message| attribute::of(message, ATTRIBUTE))
}
