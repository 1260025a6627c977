//! The start and the result of a turn: snapshots and completed turns.

use super::history::{self, Repair};
use super::{Change, LeaseToken, RequestId};
use crate::message::{ChatMessage, Messages};
use std::ops::Range;
use std::sync::Arc;

/// The messages of a conversation at the start of a turn.
///
/// Cheap to clone. A store that holds lists in memory shares them with its snapshots.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    messages: Messages,
    version: Option<u64>,
    /// The index where the history starts: 1 after a stored system message, else 0.
    start: usize,
    /// Set if `messages` is a repaired copy of the stored messages.
    rewritten: bool,
    /// The store's numbers of the messages, if it numbers them.
    numbers: Option<Arc<[u64]>>,
}

impl Snapshot {
    /// Creates a snapshot of the stored messages, with the version of the conversation if the store
    /// has versions.
    #[must_use]
    pub fn new(messages: impl Into<Messages>, version: Option<u64>) -> Self {
        let messages = messages.into();
        Self { messages, version, start: 0, rewritten: false, numbers: None }
    }

    /// Sets the store's numbers of the messages.
    pub(crate) fn with_numbers(mut self, numbers: impl IntoIterator<Item = u64>) -> Self {
        self.numbers = Some(numbers.into_iter().collect());
        self
    }

    /// Returns a change that removes the messages in `evict`, counted from the oldest, and appends
    /// `append`. It applies only if the conversation still has the version of this snapshot.
    #[must_use]
    pub fn change(&self, evict: Range<usize>, append: Vec<ChatMessage>) -> Change {
        let numbers = self.numbers_of(&evict);
        Change::advance(self.version, evict, append).with_numbers(numbers)
    }

    fn numbers_of(&self, range: &Range<usize>) -> Option<Vec<u64>> {
        let end = range.end.min(self.messages.len());
        let numbers = self.numbers.as_ref()?.get(range.start.min(end)..end)?;
        Some(numbers.to_vec())
    }

    /// Returns all messages, including a stored system message.
    #[must_use]
    pub fn messages(&self) -> &Messages {
        &self.messages
    }

    /// Returns all messages without copying them.
    pub(super) fn into_messages(self) -> Messages {
        self.messages
    }

    /// Returns the version of the conversation, if the store has versions.
    #[must_use]
    pub fn version(&self) -> Option<u64> {
        self.version
    }

    /// Returns the stored system message.
    #[must_use]
    pub fn system(&self) -> Option<&ChatMessage> {
        self.messages.get(0).filter(|_| self.start == 1)
    }

    /// Returns the messages after the stored system message, oldest first.
    pub fn history(&self) -> impl ExactSizeIterator<Item = &ChatMessage> {
        self.messages.iter_from(self.start)
    }

    /// Returns the index where [`history`](Self::history) starts in [`messages`](Self::messages).
    #[doc(hidden)]
    pub fn start(&self) -> usize {
        self.start
    }

    /// Returns the snapshot in the form `system? turn*`, and the repair if one was necessary.
    #[doc(hidden)]
    pub fn into_turns(mut self) -> (Self, Option<Repair>) {
        let mut repair = None;
        if !self.messages.is_known_complete() {
            match history::repaired(&self.messages) {
                None => self.messages.mark_complete(),
                Some((messages, needed)) => {
                    self.messages = messages;
                    self.rewritten = true;
                    repair = Some(needed);
                }
            }
        }
        self.start = usize::from(self.messages.get(0).is_some_and(ChatMessage::is_system));
        (self, repair)
    }
}

/// A successful turn, to be committed to a memory.
#[derive(Debug)]
pub struct CompletedTurn {
    snapshot: Snapshot,
    system: Option<ChatMessage>,
    messages: Vec<ChatMessage>,
    lease: Option<LeaseToken>,
    request: Option<RequestId>,
}

impl CompletedTurn {
    #[doc(hidden)]
    #[must_use]
    pub fn new(
        snapshot: Snapshot,
        system: Option<ChatMessage>,
        messages: Vec<ChatMessage>,
    ) -> Self {
        Self { snapshot, system, messages, lease: None, request: None }
    }

    /// Makes the commit of the turn depend on a lease.
    #[doc(hidden)]
    #[must_use]
    pub fn with_lease(mut self, lease: Option<LeaseToken>) -> Self {
        self.lease = lease;
        self
    }

    /// Sets the request that the turn answers.
    #[doc(hidden)]
    #[must_use]
    pub fn with_request(mut self, request: Option<RequestId>) -> Self {
        self.request = request;
        self
    }

    /// Returns the snapshot that the turn started from.
    #[must_use]
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Returns the system message that was sent. It is not part of the turn.
    #[must_use]
    pub fn system(&self) -> Option<&ChatMessage> {
        self.system.as_ref()
    }

    /// Returns the messages of the turn: the user message, the tool calls with their results, and
    /// the final answer.
    #[must_use]
    pub fn messages(&self) -> &[ChatMessage] {
        &self.messages
    }

    /// Returns the token of the lease under which the turn ran. A memory of your own that returns a
    /// [`LeaseRequest`](super::LeaseRequest) passes the token [to the change](Change::with_lease).
    #[must_use]
    pub fn lease(&self) -> Option<LeaseToken> {
        self.lease
    }

    /// Returns the request that the turn answers, if the application has set its id. A memory of your own
    /// passes it [to the change](Change::with_request).
    #[must_use]
    pub fn request(&self) -> Option<&RequestId> {
        self.request.as_ref()
    }

    /// Returns the whole list after the turn, without the `evict` oldest messages of the history.
    #[must_use]
    pub fn into_messages(self, evict: usize) -> Vec<ChatMessage> {
        let system = self.snapshot.system();
        let kept = self.snapshot.history().skip(evict);
        let mut all: Vec<_> = system.into_iter().chain(kept).cloned().collect();
        all.extend(self.messages);
        all
    }

    /// Returns the change for the store. It evicts the `evict` oldest messages of the history.
    ///
    /// Consumes the snapshot, so that a store that shares its list with the snapshot can change the
    /// list in place.
    #[must_use]
    pub fn into_change(self, evict: usize) -> Change {
        let (version, lease, request) = (self.snapshot.version, self.lease, self.request.clone());
        let change = if self.snapshot.rewritten {
            let messages = Messages::from(self.into_messages(evict));
            messages.mark_complete();
            Change::replace(version, messages)
        } else {
            let evict = self.snapshot.start..self.snapshot.start + evict;
            let numbers = self.snapshot.numbers_of(&evict);
            Change::turn(version, evict, self.messages).with_numbers(numbers)
        };
        let change = change.with_request(request);
        match lease {
            Some(lease) => change.with_lease(lease),
            None => change,
        }
    }
}
