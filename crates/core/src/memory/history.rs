//! The grammar of a history, and the repair of a malformed one.
//!
//! ```text
//! history = system? turn*
//! turn    = user other* ( calls results )* answer
//! ```
//!
//! `calls` is an assistant message with tool calls, `results` contains exactly one result for each
//! call in the same order, and `answer` is an assistant message without calls. Histories that a
//! service wrote have this form. A history from another source is repaired deterministically,
//! independent of time and randomness: messages without an answer are left out, and a call without
//! a result gets a result that reports the interruption. Calls with equal ids get the results with
//! that id in order.

use crate::message::{AiMessage, ChatMessage, Messages, ToolCall, ToolResult};
use std::collections::{HashMap, VecDeque};

/// The text of an inserted result for a call without one.
const INTERRUPTED: &str = "interrupted: the outcome of this call is unknown";

/// The changes that a repair made to a history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repair {
    /// Number of messages that were left out.
    pub dropped: usize,
    /// Number of results that were inserted.
    pub added: usize,
}

impl Repair {
    #[doc(hidden)]
    pub fn is_needed(self) -> bool {
        self != Self::default()
    }
}

/// Returns a repaired copy of the history, or `None` if it is well-formed.
pub(crate) fn repaired(messages: &Messages) -> Option<(Messages, Repair)> {
    if is_complete(messages) {
        return None;
    }
    let system = messages.iter().rev().find(|message| message.is_system()).cloned();
    let mut kept: Vec<ChatMessage> = system.into_iter().collect();
    let mut added = 0;
    let others: Vec<&ChatMessage> =
        messages.iter().filter(|message| !message.is_system()).collect();
    for turn in others.chunk_by(|_, next| !next.is_user()) {
        if let Some((turn, inserted)) = complete_turn(turn) {
            kept.extend(turn);
            added += inserted;
        }
    }
    // Every remaining message except for the inserted results occurs once in the original list.
    let dropped = messages.len() - (kept.len() - added);
    let kept = Messages::from(kept);
    kept.mark_complete();
    Some((kept, Repair { dropped, added }))
}

/// Returns the turn up to its last answer, with exactly one result for each call, and the number of
/// inserted results.
fn complete_turn(turn: &[&ChatMessage]) -> Option<(Vec<ChatMessage>, usize)> {
    let answer = turn.iter().rposition(|message| is_answer(message))?;
    let (user, rest) = turn.get(..=answer)?.split_first()?;
    if !user.is_user() {
        return None;
    }
    let mut complete = vec![(*user).clone()];
    let mut added = 0;
    let mut rest = rest.iter();
    while let Some(message) = rest.next() {
        match message {
            ChatMessage::ToolResult(_) => {}
            ChatMessage::Ai(ai) if !ai.tool_calls().is_empty() => {
                let mut results = results_by_id(rest.as_slice());
                complete.push((*message).clone());
                for call in ai.tool_calls() {
                    let found = results.get_mut(call.id()).and_then(VecDeque::pop_front);
                    added += usize::from(found.is_none());
                    complete.push(found.cloned().unwrap_or_else(|| interrupted_result(call)));
                }
            }
            // A turn ends with its first answer, so earlier answers are left out.
            ChatMessage::Ai(_) if rest.len() > 0 => {}
            _ => complete.push((*message).clone()),
        }
    }
    Some((complete, added))
}

/// Returns the tool results at the start of a list by id. Results with equal ids, or without one, keep
/// their order: each belongs to one call.
fn results_by_id<'a>(messages: &[&'a ChatMessage]) -> HashMap<&'a str, VecDeque<&'a ChatMessage>> {
    let mut results = HashMap::<_, VecDeque<_>>::new();
    for message in messages {
        let ChatMessage::ToolResult(result) = message else { break };
        results.entry(result.id()).or_default().push_back(*message);
    }
    results
}

fn interrupted_result(call: &ToolCall) -> ChatMessage {
    ToolResult::new(call.id(), call.name(), INTERRUPTED).into_error().into()
}

fn is_answer(message: &ChatMessage) -> bool {
    message.as_ai().is_some_and(|ai| ai.tool_calls().is_empty())
}

/// Returns `true` if the list is well-formed.
pub(crate) fn is_complete(messages: &Messages) -> bool {
    let mut messages = messages.iter().peekable();
    messages.next_if(|message| message.is_system());
    while let Some(user) = messages.next() {
        if !user.is_user() {
            return false;
        }
        loop {
            match messages.next() {
                Some(ChatMessage::Custom(_)) => {}
                Some(ChatMessage::Ai(ai)) if ai.tool_calls().is_empty() => break,
                Some(ChatMessage::Ai(ai)) => {
                    if !has_all_results(ai, || messages.next_if(|message| message.is_tool_result()))
                    {
                        return false;
                    }
                }
                _ => return false,
            }
        }
    }
    true
}

/// Returns `true` if `next_result` yields one result for each call, in order.
fn has_all_results<'a>(
    ai: &AiMessage,
    mut next_result: impl FnMut() -> Option<&'a ChatMessage>,
) -> bool {
    ai.tool_calls().iter().all(|call| match next_result() {
        Some(ChatMessage::ToolResult(result)) => result.id() == call.id(),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn call(ids: &[&str]) -> ChatMessage {
        AiMessage::builder()
            .tool_calls(ids.iter().map(|id| ToolCall::new(*id, "t", "{}")))
            .build()
            .into()
    }

    fn result(id: &str) -> ChatMessage {
        ToolResult::new(id, "t", "r").into()
    }

    fn user() -> ChatMessage {
        ChatMessage::user("u")
    }

    fn ai() -> ChatMessage {
        ChatMessage::ai("a")
    }

    fn repair(messages: Vec<ChatMessage>) -> (Vec<ChatMessage>, Repair) {
        let (messages, repair) = repaired(&messages.into()).unwrap();
        (messages.to_vec(), repair)
    }

    #[test]
    fn complete_turns_need_no_repair() {
        let turns = vec![
            ChatMessage::system("s"),
            user(),
            call(&["1", "2"]),
            result("1"),
            result("2"),
            ai(),
            user(),
            ai(),
        ];
        assert!(repaired(&turns.into()).is_none());
        assert!(repaired(&Messages::new()).is_none());
    }

    #[test]
    fn unanswered_messages_are_left_out() {
        let (messages, repair) = repair(vec![ai(), user(), user(), ai(), user(), call(&["1"])]);
        assert_eq!(messages, [user(), ai()]);
        assert_eq!(repair, Repair { dropped: 4, added: 0 });
    }

    #[test]
    fn missing_results_are_inserted_and_orphans_dropped() {
        let (messages, repair) =
            repair(vec![user(), result("0"), call(&["1", "2"]), result("2"), result("3"), ai()]);
        assert_eq!(
            messages,
            [
                user(),
                call(&["1", "2"]),
                interrupted_result(&call(&["1"]).tool_calls()[0]),
                result("2"),
                ai()
            ]
        );
        assert_eq!(repair, Repair { dropped: 2, added: 1 });
    }

    #[test]
    fn calls_with_equal_ids_do_not_share_a_result() {
        let (messages, repair) = repair(vec![user(), call(&["a", "a"]), result("a"), ai()]);
        let interrupted = interrupted_result(&call(&["a"]).tool_calls()[0]);
        assert_eq!(messages, [user(), call(&["a", "a"]), result("a"), interrupted, ai()]);
        assert_eq!(repair, Repair { dropped: 0, added: 1 });
    }

    #[test]
    fn results_of_equal_ids_keep_their_order() {
        let named = |text| ChatMessage::from(ToolResult::new("a", "t", text));
        let (calls, orphan) = (call(&["b", "a", "a"]), result("c"));
        let (messages, repair) =
            repair(vec![user(), calls.clone(), named("1"), orphan, named("2"), result("b"), ai()]);
        assert_eq!(messages, [user(), calls, result("b"), named("1"), named("2"), ai()]);
        assert_eq!(repair, Repair { dropped: 1, added: 0 });
    }

    #[test]
    fn last_system_message_moves_to_the_front() {
        let (messages, _) =
            repair(vec![ChatMessage::system("1"), user(), ChatMessage::system("2"), ai()]);
        assert_eq!(messages, [ChatMessage::system("2"), user(), ai()]);
    }

    /// Generates ids that are often equal, or empty.
    fn any_id() -> impl Strategy<Value = &'static str> {
        prop_oneof![Just("1"), Just("2"), Just("")]
    }

    fn any_message() -> impl Strategy<Value = ChatMessage> {
        prop_oneof![
            1 => Just(user()),
            1 => Just(ai()),
            1 => Just(ChatMessage::system("s")),
            3 => prop::collection::vec(any_id(), 1..4).prop_map(|ids| call(&ids)),
            3 => any_id().prop_map(result),
        ]
    }

    proptest! {
        #[test]
        fn repaired_history_is_well_formed(
            messages in prop::collection::vec(any_message(), 0..20),
        ) {
            let messages = Messages::from(messages);
            let repaired = repaired(&messages).map_or(messages, |(messages, _)| messages);
            prop_assert!(is_complete(&repaired));
        }

        #[test]
        fn no_message_occurs_more_often_than_before(
            between in prop::collection::vec(any_message(), 0..20),
        ) {
            let messages = Messages::from([vec![user()], between, vec![ai()]].concat());
            let Some((kept, repair)) = repaired(&messages) else { return Ok(()) };
            let (mut inserted, mut original) = (0, messages.to_vec());
            for message in &kept {
                match original.iter().position(|old| old == message) {
                    Some(index) => drop(original.remove(index)),
                    None => inserted += 1,
                }
            }
            prop_assert_eq!(repair, Repair { dropped: original.len(), added: inserted });
        }
    }
}
