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

/// The changes that a repair made to a history, at least one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repair {
    /// Number of messages that were left out.
    pub dropped: usize,
    /// Number of results that were inserted.
    pub added: usize,
    /// `true` if a remaining message was moved before one that it followed.
    pub is_reordered: bool,
}

/// A history under repair.
#[derive(Default)]
struct RepairedHistory {
    messages: Vec<ChatMessage>,
    added: usize,
    is_reordered: bool,
    /// The highest position in the original history among the kept messages.
    last_position: usize,
}

/// A message, and its position in the original history.
type Positioned<'a> = (usize, &'a ChatMessage);

/// Returns a repaired copy of the history, or `None` if it is well-formed.
pub(crate) fn repaired(messages: &Messages) -> Option<(Messages, Repair)> {
    if is_complete(messages) {
        return None;
    }
    let mut history = RepairedHistory::default();
    let positioned: Vec<Positioned<'_>> = messages.iter().enumerate().collect();
    if let Some(system) = positioned.iter().rfind(|(_, message)| message.is_system()) {
        history.keep(*system);
    }
    let others: Vec<_> =
        positioned.into_iter().filter(|(_, message)| !message.is_system()).collect();
    for turn in others.chunk_by(|_, (_, next)| !next.is_user()) {
        history.add_turn(turn);
    }
    let RepairedHistory { messages: kept, added, is_reordered, .. } = history;
    // Every remaining message except for the inserted results occurs once in the original list.
    let dropped = messages.len() - (kept.len() - added);
    let kept = Messages::from(kept);
    kept.mark_complete();
    Some((kept, Repair { dropped, added, is_reordered }))
}

impl RepairedHistory {
    fn keep(&mut self, (position, message): Positioned<'_>) {
        self.is_reordered |= position < self.last_position;
        self.last_position = self.last_position.max(position);
        self.messages.push(message.clone());
    }

    /// Adds a turn up to its last answer, with exactly one result for each call. Leaves out a turn without
    /// an answer or without a user message.
    fn add_turn(&mut self, turn: &[Positioned<'_>]) {
        let Some(answer) = turn.iter().rposition(|(_, message)| is_answer(message)) else { return };
        let Some((user, rest)) = turn.get(..=answer).and_then(<[_]>::split_first) else { return };
        if !user.1.is_user() {
            return;
        }
        self.keep(*user);
        let mut rest = rest.iter();
        while let Some(message) = rest.next() {
            match message.1 {
                ChatMessage::ToolResult(_) => {}
                ChatMessage::Ai(ai) if !ai.tool_calls().is_empty() => {
                    self.keep(*message);
                    self.add_results(ai, results_by_id(rest.as_slice()));
                }
                // A turn ends with its first answer, so earlier answers are left out.
                ChatMessage::Ai(_) if rest.len() > 0 => {}
                _ => self.keep(*message),
            }
        }
    }

    fn add_results(&mut self, ai: &AiMessage, mut results: ResultsById<'_>) {
        for call in ai.tool_calls() {
            match results.get_mut(call.id()).and_then(VecDeque::pop_front) {
                Some(result) => self.keep(result),
                None => {
                    self.added += 1;
                    self.messages.push(interrupted_result(call));
                }
            }
        }
    }
}

/// Tool results by the id of their call. Results with equal ids, or without one, keep their order: each
/// belongs to one call.
type ResultsById<'a> = HashMap<&'a str, VecDeque<Positioned<'a>>>;

/// Returns the tool results at the start of a list.
fn results_by_id<'a>(messages: &[Positioned<'a>]) -> ResultsById<'a> {
    let mut results = ResultsById::new();
    for (position, message) in messages {
        let ChatMessage::ToolResult(result) = message else { break };
        results.entry(result.id()).or_default().push_back((*position, message));
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
        assert_eq!(repair, Repair { dropped: 4, ..Repair::default() });
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
        assert_eq!(repair, Repair { dropped: 2, added: 1, is_reordered: false });
    }

    #[test]
    fn calls_with_equal_ids_do_not_share_a_result() {
        let (messages, repair) = repair(vec![user(), call(&["a", "a"]), result("a"), ai()]);
        let interrupted = interrupted_result(&call(&["a"]).tool_calls()[0]);
        assert_eq!(messages, [user(), call(&["a", "a"]), result("a"), interrupted, ai()]);
        assert_eq!(repair, Repair { added: 1, ..Repair::default() });
    }

    #[test]
    fn results_of_equal_ids_keep_their_order() {
        let named = |text| ChatMessage::from(ToolResult::new("a", "t", text));
        let (calls, orphan) = (call(&["b", "a", "a"]), result("c"));
        let (messages, repair) =
            repair(vec![user(), calls.clone(), named("1"), orphan, named("2"), result("b"), ai()]);
        assert_eq!(messages, [user(), calls, result("b"), named("1"), named("2"), ai()]);
        assert_eq!(repair, Repair { dropped: 1, added: 0, is_reordered: true });
    }

    #[test]
    fn last_system_message_moves_to_the_front() {
        let (messages, repair) =
            repair(vec![ChatMessage::system("1"), user(), ChatMessage::system("2"), ai()]);
        assert_eq!(messages, [ChatMessage::system("2"), user(), ai()]);
        assert_eq!(repair, Repair { dropped: 1, added: 0, is_reordered: true });
    }

    #[test]
    fn results_in_another_order_are_reordered() {
        let calls = call(&["1", "2"]);
        let (messages, repair) =
            repair(vec![user(), calls.clone(), result("2"), result("1"), ai()]);
        assert_eq!(messages, [user(), calls, result("1"), result("2"), ai()]);
        assert_eq!(repair, Repair { is_reordered: true, ..Repair::default() });
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
            prop_assert_eq!((repair.dropped, repair.added), (original.len(), inserted));
            prop_assert_ne!(repair, Repair::default());
        }
    }
}
