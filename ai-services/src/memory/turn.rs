//! What a turn starts from and what it leaves behind.

use super::history::{self, Repair};
use super::{Change, LeaseToken};
use crate::message::{ChatMessage, Messages};
use std::ops::Range;
use std::sync::Arc;

/// The messages of a conversation as a turn found them.
///
/// Cheap to clone; a store that keeps lists in memory shares them with its snapshots.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    messages: Messages,
    version: Option<u64>,
    /// Where the history starts: 1 behind a stored system message, else 0.
    start: usize,
    /// Whether `messages` are a repaired copy of what is stored.
    rewritten: bool,
    /// The numbers that a store gave to the messages, if it gives any.
    numbers: Option<Arc<[u64]>>,
}

impl Snapshot {
    /// Messages as they are stored, with the version of the conversation, if the store has versions.
    #[must_use]
    pub fn new(messages: impl Into<Messages>, version: Option<u64>) -> Self {
        let messages = messages.into();
        Self { messages, version, start: 0, rewritten: false, numbers: None }
    }

    /// The same snapshot, with the numbers that the store gave to the messages.
    #[cfg(feature = "_store")]
    pub(crate) fn with_numbers(mut self, numbers: impl IntoIterator<Item = u64>) -> Self {
        self.numbers = Some(numbers.into_iter().collect());
        self
    }

    /// The change that removes the messages in `evict`, counted from the oldest, and adds `append`, if
    /// the conversation is still as in this snapshot.
    #[must_use]
    pub fn change(&self, evict: Range<usize>, append: Vec<ChatMessage>) -> Change {
        let numbers = self.numbers_of(&evict);
        Change::advance(self.version, evict, append).numbered(numbers)
    }

    fn numbers_of(&self, range: &Range<usize>) -> Option<Vec<u64>> {
        let end = range.end.min(self.messages.len());
        let numbers = self.numbers.as_ref()?.get(range.start.min(end)..end)?;
        Some(numbers.to_vec())
    }

    /// All messages, a stored system message included.
    #[must_use]
    pub fn messages(&self) -> &Messages {
        &self.messages
    }

    /// All messages, without a copy.
    pub(super) fn into_messages(self) -> Messages {
        self.messages
    }

    /// The version of the conversation, if the store has versions.
    #[must_use]
    pub fn version(&self) -> Option<u64> {
        self.version
    }

    /// The stored system message.
    #[must_use]
    pub fn system(&self) -> Option<&ChatMessage> {
        self.messages.get(0).filter(|_| self.start == 1)
    }

    /// The messages behind the stored system message, oldest first.
    pub fn history(&self) -> impl ExactSizeIterator<Item = &ChatMessage> {
        self.messages.iter_from(self.start)
    }

    /// Where [`history`](Self::history) starts in [`messages`](Self::messages).
    pub(crate) fn start(&self) -> usize {
        self.start
    }

    /// The same snapshot in the form `system? turn*`, and what had to be changed for that.
    pub(crate) fn into_turns(mut self) -> (Self, Repair) {
        let mut repair = Repair::default();
        if !self.messages.is_known_complete() {
            match history::repaired(&self.messages) {
                None => self.messages.mark_complete(),
                Some((messages, what)) => {
                    self.messages = messages;
                    self.rewritten = true;
                    repair = what;
                }
            }
        }
        self.start = usize::from(self.messages.get(0).is_some_and(ChatMessage::is_system));
        (self, repair)
    }
}

/// A turn that has succeeded, on its way into a memory.
#[derive(Debug)]
pub struct CompletedTurn {
    snapshot: Snapshot,
    system: Option<ChatMessage>,
    messages: Vec<ChatMessage>,
    lease: Option<LeaseToken>,
}

impl CompletedTurn {
    pub(crate) fn new(
        snapshot: Snapshot,
        system: Option<ChatMessage>,
        messages: Vec<ChatMessage>,
    ) -> Self {
        Self { snapshot, system, messages, lease: None }
    }

    /// The same turn, to be remembered only while the lease is held.
    pub(crate) fn under(mut self, lease: Option<LeaseToken>) -> Self {
        self.lease = lease;
        self
    }

    /// What the turn started from.
    #[must_use]
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// The system message that was sent. It is not part of the turn.
    #[must_use]
    pub fn system(&self) -> Option<&ChatMessage> {
        self.system.as_ref()
    }

    /// The user's message, the calls of tools with their results, the final answer.
    #[must_use]
    pub fn messages(&self) -> &[ChatMessage] {
        &self.messages
    }

    /// The lease under which the turn ran. A memory of your own that gives a
    /// [`LeaseRequest`](super::LeaseRequest) hands it on [with the change](Change::under).
    #[must_use]
    pub fn lease(&self) -> Option<LeaseToken> {
        self.lease
    }

    /// The whole list after the turn, without the `evict` oldest messages of the history.
    #[must_use]
    pub fn into_messages(self, evict: usize) -> Vec<ChatMessage> {
        let system = self.snapshot.system();
        let kept = self.snapshot.history().skip(evict);
        let mut all: Vec<_> = system.into_iter().chain(kept).cloned().collect();
        all.extend(self.messages);
        all
    }

    /// The change that a store makes, without the `evict` oldest messages of the history.
    ///
    /// Gives up the snapshot, so that a store that shares its list changes it in place.
    #[must_use]
    pub fn into_change(self, evict: usize) -> Change {
        let (version, lease) = (self.snapshot.version, self.lease);
        let change = if self.snapshot.rewritten {
            let messages = Messages::from(self.into_messages(evict));
            messages.mark_complete();
            Change::replace(version, messages)
        } else {
            let evict = self.snapshot.start..self.snapshot.start + evict;
            let numbers = self.snapshot.numbers_of(&evict);
            Change::turn(version, evict, self.messages).numbered(numbers)
        };
        match lease {
            Some(lease) => change.under(lease),
            None => change,
        }
    }
}
