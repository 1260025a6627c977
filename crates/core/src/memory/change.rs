//! Changes that a store applies to a conversation.

use super::{JournalPosition, LeaseToken, RequestId};
use crate::message::{ChatMessage, Messages};
use std::ops::Range;
use std::sync::OnceLock;

/// A change of one conversation: messages to evict and messages to append.
#[derive(Clone, Debug)]
pub struct Change {
    expected: Option<u64>,
    lease: Option<LeaseToken>,
    request: Option<RequestId>,
    /// Boxed, because most changes close no journal.
    closed_journal: Option<Box<JournalPosition>>,
    /// The store's numbers of the messages at the expected version, if they are known.
    numbers: Option<ChangedNumbers>,
    /// Length of the records of the appended messages, after a store encoded them.
    record_bytes: OnceLock<usize>,
    kind: Kind,
}

/// The store's numbers of the messages that a change removes or keeps.
#[derive(Clone, Debug)]
pub(super) struct ChangedNumbers {
    pub(super) evicted: Vec<u64>,
    /// Numbers of the two oldest messages that stay.
    pub(super) oldest_kept: [Option<u64>; 2],
}

#[derive(Clone, Debug)]
enum Kind {
    /// Removes a range, counted from the oldest message, then appends messages.
    Advance { evict: Range<usize>, append: Vec<ChatMessage>, complete_turn: bool },
    /// Replaces all messages.
    Replace(Messages),
}

impl Change {
    /// Creates a change that removes the messages in `evict`, counted from the oldest, and appends
    /// `append`.
    #[must_use]
    pub fn advance(expected: Option<u64>, evict: Range<usize>, append: Vec<ChatMessage>) -> Self {
        let complete_turn = false;
        Self::new(expected, Kind::Advance { evict, append, complete_turn })
    }

    /// Same as [`advance`](Self::advance), for a complete turn.
    pub(crate) fn turn(
        expected: Option<u64>,
        evict: Range<usize>,
        append: Vec<ChatMessage>,
    ) -> Self {
        let complete_turn = true;
        Self::new(expected, Kind::Advance { evict, append, complete_turn })
    }

    /// Creates a change that replaces all messages.
    #[must_use]
    pub fn replace(expected: Option<u64>, messages: Messages) -> Self {
        Self::new(expected, Kind::Replace(messages))
    }

    fn new(expected: Option<u64>, kind: Kind) -> Self {
        Self {
            expected,
            lease: None,
            request: None,
            closed_journal: None,
            numbers: None,
            record_bytes: OnceLock::new(),
            kind,
        }
    }

    /// Makes the change depend on a lease. The store releases the lease when it applies the change.
    #[must_use]
    pub fn with_lease(mut self, lease: LeaseToken) -> Self {
        self.lease = Some(lease);
        self
    }

    /// Sets the request that the change belongs to. Default: none.
    ///
    /// A store stores the request id with the change, and applies at most one change of each request: see
    /// [`ChatMemoryStore::commit_state`](super::ChatMemoryStore::commit_state).
    #[must_use]
    pub fn with_request(mut self, request: impl Into<Option<RequestId>>) -> Self {
        self.request = request.into();
        self
    }

    /// Makes the change delete the open journal in the same step. It applies only if the journal has this
    /// position. Default: an open journal stays open.
    #[must_use]
    pub fn closing(mut self, journal: impl Into<Option<JournalPosition>>) -> Self {
        self.closed_journal = journal.into().map(Box::new);
        self
    }

    pub(super) fn with_numbers(mut self, numbers: Option<ChangedNumbers>) -> Self {
        self.numbers = numbers;
        self
    }

    /// Returns the numbers of the removed messages. They are valid for the expected version only.
    #[doc(hidden)]
    pub fn evicted_numbers(&self) -> Option<&[u64]> {
        self.known_numbers().map(|numbers| &*numbers.evicted)
    }

    /// Returns the numbers of the two oldest messages that stay, as far as there are any. They are valid for the
    /// expected version only.
    #[doc(hidden)]
    pub fn oldest_kept_numbers(&self) -> Option<[Option<u64>; 2]> {
        self.known_numbers().map(|numbers| numbers.oldest_kept)
    }

    fn known_numbers(&self) -> Option<&ChangedNumbers> {
        self.numbers.as_ref().filter(|_| self.expected.is_some())
    }

    /// Keeps the total length of the records of the appended messages, for the cache of a store.
    pub(crate) fn keep_record_bytes(&self, bytes: usize) {
        // A plan for another version has records of the same length.
        let _ = self.record_bytes.set(bytes);
    }

    /// Returns the total length of the records of the appended messages, if a store has encoded them.
    pub(crate) fn record_bytes(&self) -> Option<usize> {
        self.record_bytes.get().copied()
    }

    /// Returns the version that the conversation must still have. `None`: any version.
    #[must_use]
    pub fn expected_version(&self) -> Option<u64> {
        self.expected
    }

    /// Returns the token of the lease that must still be held. `None`: leases are not checked.
    #[must_use]
    pub fn lease(&self) -> Option<LeaseToken> {
        self.lease
    }

    /// Returns the request that the change belongs to.
    #[must_use]
    pub fn request(&self) -> Option<&RequestId> {
        self.request.as_ref()
    }

    /// Returns the position of the journal that the change deletes.
    #[must_use]
    pub fn closed_journal(&self) -> Option<JournalPosition> {
        self.closed_journal.as_deref().copied()
    }

    /// Returns the range of removed messages, counted from the oldest. `None` for all messages.
    #[must_use]
    pub fn evicted(&self) -> Option<Range<usize>> {
        match &self.kind {
            Kind::Advance { evict, .. } => Some(evict.clone()),
            Kind::Replace(_) => None,
        }
    }

    /// Returns the messages to append after the removal.
    pub fn appended(&self) -> impl Iterator<Item = &ChatMessage> {
        let (advance, replace): (&[ChatMessage], _) = match &self.kind {
            Kind::Advance { append, .. } => (append, None),
            Kind::Replace(messages) => (&[], Some(messages)),
        };
        advance.iter().chain(replace.into_iter().flatten())
    }

    /// Returns `true` if the change replaces all messages.
    #[must_use]
    pub fn is_replacement(&self) -> bool {
        matches!(self.kind, Kind::Replace(_))
    }

    /// Applies the change to a list.
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
