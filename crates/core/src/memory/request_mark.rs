//! The request that a stored turn answers.
//!
//! The id of a request is an attribute of the user message of its turn, so that a repeated request finds the
//! stored answer with the messages that every call loads, in any store.

use super::{RequestId, attribute};
use crate::message::ChatMessage;

/// The attribute that contains the id of the request.
const ATTRIBUTE: &str = "ai_services.request";

/// Marks the turn of a request.
pub(super) fn mark(turn: &mut [ChatMessage], request: &RequestId) {
    attribute::set(turn, ATTRIBUTE, request.as_str());
}

/// Returns the messages after the user message of the newest turn of a request.
pub(super) fn turn_of<'a>(
    history: impl DoubleEndedIterator<Item = &'a ChatMessage>,
    request: &RequestId,
) -> Option<Vec<ChatMessage>> {
    let mut turn = Vec::new();
    for message in history.rev() {
        if attribute::of(message, ATTRIBUTE) == Some(request.as_str()) {
            turn.reverse();
            return Some(turn);
        }
        match message.is_user() {
            true => turn.clear(),
            false => turn.push(message.clone()),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(id: &str) -> RequestId {
        RequestId::new(id).unwrap()
    }

    #[test]
    fn turn_of_a_request_is_found_between_others() {
        let mut history = Vec::new();
        for name in ["a", "b", "c"] {
            let mut turn =
                [ChatMessage::user(name), ChatMessage::ai("answer to ".to_owned() + name)];
            mark(&mut turn, &request(name));
            history.extend(turn);
        }
        assert_eq!(
            turn_of(history.iter(), &request("b")),
            Some(vec![ChatMessage::ai("answer to b")])
        );
        assert_eq!(turn_of(history.iter(), &request("d")), None);
    }
}
