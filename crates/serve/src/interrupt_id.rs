//! The ids under which clients decide about tool calls that wait.

use ai_services_core::approval::{PendingTurn, WaitsFor, digest};
use ai_services_core::memory::MemoryId;
use std::fmt;
use std::str::FromStr;

/// Largest number of tool calls in an id. A model calls fewer tools in one answer.
const MAX_CALLS: usize = 128;

/// The id of one thing that a turn waits for. Opaque for clients.
///
/// The id has everything that the server needs to go on with the stream of the turn, so that nothing is kept between two
/// requests. A client can change the ids of the tool calls in it, but then only confuses itself. The rest is compared with
/// the stored turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InterruptId {
    /// Digest of the memory id.
    conversation: String,
    /// Position of the journal.
    pub(crate) position: String,
    pub(crate) kind: InterruptKind,
    /// Index of the tool call among those that wait.
    pub(crate) call: usize,
    /// Index of the question of the call. 0 for other kinds.
    pub(crate) question: usize,
    /// The id of the tool call in the stream.
    pub(crate) call_id: String,
    /// The ids of the other calls of the same answer that have no result yet.
    pub(crate) open_ids: Vec<String>,
}

/// The thing that a turn waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InterruptKind {
    Approval,
    Question,
    Task,
}

impl InterruptId {
    /// Creates the id of a call that waits.
    pub(crate) fn new(
        conversation: &str,
        pending: &PendingTurn,
        (call, waits_for): (usize, &WaitsFor),
        (call_id, open_ids): (&str, &[String]),
    ) -> Self {
        Self {
            conversation: conversation.to_owned(),
            position: pending.position.clone(),
            kind: match waits_for {
                WaitsFor::Approval => InterruptKind::Approval,
                WaitsFor::Answers(_) => InterruptKind::Question,
                // A task, which needs no decision.
                _ => InterruptKind::Task,
            },
            call,
            question: 0,
            call_id: call_id.to_owned(),
            open_ids: open_ids.to_vec(),
        }
    }

    /// Returns the id of another question of the call.
    pub(crate) fn of_question(&self, question: usize) -> Self {
        Self { question, ..self.clone() }
    }

    /// Returns `true` if the id was made for this conversation.
    pub(crate) fn belongs_to(&self, memory_id: &MemoryId) -> bool {
        self.conversation == conversation_digest(memory_id)
    }
}

/// Returns the part of an id that names its conversation.
pub(crate) fn conversation_digest(memory_id: &MemoryId) -> String {
    digest(&["conversation", memory_id.as_str()])
}

impl fmt::Display for InterruptId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { conversation, position, call, question, call_id, .. } = self;
        let kind = match self.kind {
            InterruptKind::Approval => "approval",
            InterruptKind::Question => "question",
            InterruptKind::Task => "task",
        };
        write!(f, "{conversation}.{position}.{kind}.{call}.{question}.{call_id}")?;
        self.open_ids.iter().try_for_each(|id| write!(f, ".{id}"))
    }
}

/// A text that is not an id.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InvalidInterruptId;

impl FromStr for InterruptId {
    type Err = InvalidInterruptId;

    fn from_str(text: &str) -> Result<Self, InvalidInterruptId> {
        let mut parts = text.splitn(MAX_CALLS + 6, '.');
        let mut next = || parts.next().ok_or(InvalidInterruptId);
        let (conversation, position) = (next()?.to_owned(), next()?.to_owned());
        let kind = match next()? {
            "approval" => InterruptKind::Approval,
            "question" => InterruptKind::Question,
            "task" => InterruptKind::Task,
            _ => return Err(InvalidInterruptId),
        };
        let call = next()?.parse().map_err(|_| InvalidInterruptId)?;
        let question = next()?.parse().map_err(|_| InvalidInterruptId)?;
        let call_id = call_id_of(next()?)?;
        let open_ids = parts.map(call_id_of).collect::<Result<_, _>>()?;
        Ok(Self { conversation, position, kind, call, question, call_id, open_ids })
    }
}

/// Reads the id of a tool call, which is sent back to the client.
fn call_id_of(text: &str) -> Result<String, InvalidInterruptId> {
    let is_valid = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if text.is_empty() || text.len() > 64 || !text.bytes().all(is_valid) {
        return Err(InvalidInterruptId);
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(open_ids: &[&str]) -> InterruptId {
        InterruptId {
            conversation: conversation_digest(&MemoryId::from("a")),
            position: "0123:7".to_owned(),
            kind: InterruptKind::Question,
            call: 1,
            question: 2,
            call_id: "call_x_0".to_owned(),
            open_ids: open_ids.iter().map(|id| (*id).to_owned()).collect(),
        }
    }

    #[test]
    fn id_is_read_as_it_was_written() {
        for open_ids in [&[][..], &["call_x_1"], &["call_x_1", "call_x_2"]] {
            let id = id(open_ids);
            assert_eq!(id.to_string().parse::<InterruptId>().unwrap(), id);
        }
        assert!(id(&[]).belongs_to(&MemoryId::from("a")));
        assert!(!id(&[]).belongs_to(&MemoryId::from("b")));
    }

    #[test]
    fn other_texts_are_invalid() {
        let valid = id(&[]).to_string();
        for text in ["", "a.b", "a.b.other.0.0.c", "a.b.task.x.0.c", "a.b.task.0.-1.c"] {
            assert!(text.parse::<InterruptId>().is_err(), "{text}");
        }
        for end in [".", ".a b", ".\u{e9}", &format!(".{}", "x".repeat(65)), &".x".repeat(200)] {
            assert!(format!("{valid}{end}").parse::<InterruptId>().is_err(), "{end}");
        }
    }
}
