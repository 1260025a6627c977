//! What a store is told to do with a conversation.

use super::LeaseToken;
use crate::message::{ChatMessage, Messages};
use std::ops::Range;

/// A change of one conversation: what is evicted and what is added.
#[derive(Clone, Debug)]
pub struct Change {
    expected: Option<u64>,
    lease: Option<LeaseToken>,
    /// The numbers that the store gave to the messages that are removed, if they are known.
    numbers: Option<Vec<u64>>,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    /// Removes a range, counted from the oldest, then adds messages at the end.
    Advance { evict: Range<usize>, append: Vec<ChatMessage>, complete_turn: bool },
    /// Replaces everything.
    Replace(Messages),
}

impl Change {
    /// Removes the messages in `evict`, counted from the oldest, and adds `append` at the end.
    #[must_use]
    pub fn advance(expected: Option<u64>, evict: Range<usize>, append: Vec<ChatMessage>) -> Self {
        let complete_turn = false;
        Self::new(expected, Kind::Advance { evict, append, complete_turn })
    }

    /// As [`advance`](Self::advance), with a complete turn.
    pub(super) fn turn(
        expected: Option<u64>,
        evict: Range<usize>,
        append: Vec<ChatMessage>,
    ) -> Self {
        let complete_turn = true;
        Self::new(expected, Kind::Advance { evict, append, complete_turn })
    }

    /// Replaces all messages.
    #[must_use]
    pub fn replace(expected: Option<u64>, messages: Messages) -> Self {
        Self::new(expected, Kind::Replace(messages))
    }

    fn new(expected: Option<u64>, kind: Kind) -> Self {
        Self { expected, lease: None, numbers: None, kind }
    }

    /// Makes the change depend on a lease. The store gives the lease back with the change.
    #[must_use]
    pub fn under(mut self, lease: LeaseToken) -> Self {
        self.lease = Some(lease);
        self
    }

    pub(super) fn numbered(mut self, numbers: Option<Vec<u64>>) -> Self {
        self.numbers = numbers;
        self
    }

    /// The numbers of the messages that are removed, true for the expected version.
    #[cfg(feature = "postgres")]
    pub(crate) fn evicted_numbers(&self) -> Option<&[u64]> {
        self.numbers.as_deref().filter(|_| self.expected.is_some())
    }

    /// The version that the conversation must still have. `None`: any.
    #[must_use]
    pub fn expected_version(&self) -> Option<u64> {
        self.expected
    }

    /// The lease that must still be held. `None`: whoever holds one.
    #[must_use]
    pub fn lease(&self) -> Option<LeaseToken> {
        self.lease
    }

    /// Which messages are removed, counted from the oldest; `None` for all.
    #[must_use]
    pub fn evicted(&self) -> Option<Range<usize>> {
        match &self.kind {
            Kind::Advance { evict, .. } => Some(evict.clone()),
            Kind::Replace(_) => None,
        }
    }

    /// What is added at the end after the removal.
    pub fn appended(&self) -> impl Iterator<Item = &ChatMessage> {
        let (advance, replace): (&[ChatMessage], _) = match &self.kind {
            Kind::Advance { append, .. } => (append, None),
            Kind::Replace(messages) => (&[], Some(messages)),
        };
        advance.iter().chain(replace.into_iter().flatten())
    }

    /// Whether everything that was there is replaced.
    #[must_use]
    pub fn is_replacement(&self) -> bool {
        matches!(self.kind, Kind::Replace(_))
    }

    /// Makes the change in a list.
    pub fn apply(self, messages: &mut Messages) {
        match self.kind {
            Kind::Advance { evict, append, complete_turn: true } => messages.advance(evict, append),
            Kind::Advance { evict, append, complete_turn: false } => {
                messages.remove(evict);
                messages.extend(append);
            }
            Kind::Replace(new) => *messages = new,
        }
    }
}
