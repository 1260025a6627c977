//! The start and the result of a turn: snapshots and completed turns.

use super::change::ChangedNumbers;
use super::history::{self, Repair};
use super::{
    Change, JournalPosition, LeaseToken, Numbers, RequestId, found_tools, request_mark, spent_mark,
    summary,
};
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
    /// The number of stored system messages at the start: 0 or 1.
    system: usize,
    /// The number of messages behind the system message that show a summary, and are not stored: 0 or 2.
    summary: usize,
    /// The number of stored messages behind the system message that are no longer in `messages`, because
    /// the summary covers them.
    folded: usize,
    /// Set if `messages` is a repaired copy of the stored messages.
    rewritten: bool,
    /// The store's numbers of the messages, if it numbers them.
    numbers: Option<Arc<Numbers>>,
    /// The open journal of the conversation. Boxed, because most conversations have none.
    journal: Option<Box<JournalPosition>>,
}

impl Snapshot {
    /// Creates a snapshot of the stored messages, with the version of the conversation if the store
    /// has versions.
    #[must_use]
    pub fn new(messages: impl Into<Messages>, version: Option<u64>) -> Self {
        let messages = messages.into();
        let (system, summary, folded) = (0, 0, 0);
        let (numbers, journal) = (None, None);
        Self { messages, version, system, summary, folded, rewritten: false, numbers, journal }
    }

    /// Sets the position of the conversation's open journal. Default: no journal is open.
    #[must_use]
    pub fn with_journal(mut self, journal: Option<JournalPosition>) -> Self {
        self.journal = journal.map(Box::new);
        self
    }

    /// Sets the store's numbers of the messages.
    pub(crate) fn with_numbers(mut self, numbers: impl Into<Arc<Numbers>>) -> Self {
        self.numbers = Some(numbers.into());
        self
    }

    /// Returns a change that removes the messages in `evict`, counted from the oldest, and appends
    /// `append`. It applies only if the conversation still has the version of this snapshot.
    #[must_use]
    pub fn change(&self, evict: Range<usize>, append: Vec<ChatMessage>) -> Change {
        let numbers = self.numbers_of(&evict);
        Change::advance(self.version, evict, append).with_numbers(numbers)
    }

    fn numbers_of(&self, evict: &Range<usize>) -> Option<ChangedNumbers> {
        let numbers = self.numbers.as_ref()?;
        let end = evict.end.min(numbers.len());
        let evicted = (evict.start..end).map(|index| numbers.get(index)).collect::<Option<_>>()?;
        let mut kept = (0..evict.start).chain(evict.start.max(end)..).map(|at| numbers.get(at));
        let oldest_kept = [(); 2].map(|()| kept.next().flatten());
        Some(ChangedNumbers { evicted, oldest_kept })
    }

    /// Returns all messages, including a stored system message and a [summary](super::Summarizer).
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

    /// Returns the position of the conversation's open journal, if there is one.
    #[must_use]
    pub fn journal(&self) -> Option<JournalPosition> {
        self.journal.as_deref().copied()
    }

    /// Returns the stored system message.
    #[must_use]
    pub fn system(&self) -> Option<&ChatMessage> {
        self.messages.get(0).filter(|_| self.system == 1)
    }

    /// Returns the messages after the stored system message and the summary, oldest first.
    pub fn history(&self) -> impl ExactSizeIterator<Item = &ChatMessage> + DoubleEndedIterator {
        self.messages.iter_from(self.start())
    }

    /// Returns the messages after the user message of the turn that answered this request, if it is in the history.
    #[doc(hidden)]
    #[must_use]
    pub fn turn_of(&self, request: &RequestId) -> Option<Vec<ChatMessage>> {
        request_mark::turn_of(self.history(), request)
    }

    /// Returns the amounts that the conversation has spent, as the newest turn
    /// [with a sum](CompletedTurn::with_spent) records them.
    #[doc(hidden)]
    #[must_use]
    pub fn spent(&self) -> Option<&str> {
        spent_mark::newest(self.history())
    }

    /// Returns the names of the tools that were found in the conversation, as the newest turn
    /// with names carries them.
    #[doc(hidden)]
    #[must_use]
    pub fn found_tools(&self) -> Option<&str> {
        found_tools::newest(self.history())
    }

    /// Returns the messages that a window may leave out of a request, in this order: the history, oldest
    /// first, then the summary.
    pub(super) fn evictable(&self) -> impl Iterator<Item = &ChatMessage> {
        let summary = self.messages.iter_from(self.system).take(self.summary);
        self.history().chain(summary)
    }

    /// Returns the index where [`history`](Self::history) starts in [`messages`](Self::messages).
    #[doc(hidden)]
    pub fn start(&self) -> usize {
        self.system + self.summary
    }

    /// Returns the summary of everything before the history.
    #[doc(hidden)]
    #[must_use]
    pub fn summary(&self) -> Option<&str> {
        if self.summary == 0 {
            return None;
        }
        self.messages.get(self.system + 1)?.text()
    }

    /// Returns the snapshot with the stored summary, if there is one, in front of its history.
    #[doc(hidden)]
    #[must_use]
    pub fn with_summary(self) -> Self {
        match summary::carried_by(self.history()).map(Box::<str>::from) {
            Some(summary) => self.fold(0, Some(&summary)),
            None => self,
        }
    }

    /// Returns the snapshot without the `count` oldest messages of its history, whole turns, and with a
    /// summary that covers them. The commit of the turn evicts these messages and stores the summary.
    #[doc(hidden)]
    #[must_use]
    pub fn fold(mut self, count: usize, summary: Option<&str>) -> Self {
        let count = count.min(self.history().len());
        let turn = summary.map(summary::turn);
        let kept = self.history().skip(count).cloned();
        let messages: Messages = self
            .system()
            .cloned()
            .into_iter()
            .chain(turn.into_iter().flatten())
            .chain(kept)
            .collect();
        messages.mark_complete();
        self.summary = if summary.is_some() { 2 } else { 0 };
        self.folded += count;
        self.messages = messages;
        self
    }

    /// Returns the number of oldest messages to fold if `skipped` of them do not fit: these, and half of the
    /// rest, rounded up to whole turns.
    #[doc(hidden)]
    #[must_use]
    pub fn fold_length(&self, skipped: usize) -> usize {
        let length = self.history().len();
        let enough = skipped + length.saturating_sub(skipped).div_ceil(2);
        let next_turn = self.history().skip(enough).position(ChatMessage::is_user);
        next_turn.map_or(length, |messages| enough + messages)
    }

    /// Returns the messages to send in front of a turn, as a list and the number of its first messages to
    /// leave out. `skipped` is the result of [`ChatMemory::fit`](super::ChatMemory::fit): the summary is
    /// left out after the whole history.
    #[doc(hidden)]
    #[must_use]
    pub fn sent(&self, skipped: usize) -> (Messages, usize) {
        let history = self.history().len();
        if self.summary > 0 && (1..=history).contains(&skipped) {
            let summary = self.messages.iter_from(self.system).take(self.summary);
            return (summary.chain(self.history().skip(skipped)).cloned().collect(), 0);
        }
        let summary = if skipped == 0 { self.summary } else { 0 };
        (self.messages.clone(), self.start() + skipped.min(history) - summary)
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
        self.system = usize::from(self.messages.get(0).is_some_and(ChatMessage::is_system));
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
    journal: Option<Box<JournalPosition>>,
}

impl CompletedTurn {
    #[doc(hidden)]
    #[must_use]
    #[inline]
    pub fn new(
        snapshot: Snapshot,
        system: Option<ChatMessage>,
        messages: Vec<ChatMessage>,
    ) -> Self {
        Self { snapshot, system, messages, lease: None, request: None, journal: None }
    }

    /// Makes the commit of the turn depend on a lease.
    #[doc(hidden)]
    #[must_use]
    #[inline]
    pub fn with_lease(mut self, lease: Option<LeaseToken>) -> Self {
        self.lease = lease;
        self
    }

    /// Sets the request that the turn answers. The user message of the turn then carries its id.
    #[doc(hidden)]
    #[must_use]
    #[inline]
    pub fn with_request(mut self, request: Option<RequestId>) -> Self {
        if let Some(request) = &request {
            request_mark::mark(&mut self.messages, request);
        }
        self.request = request;
        self
    }

    /// Sets the amounts that the conversation has spent, this turn included. The user message of the turn then carries
    /// them.
    #[doc(hidden)]
    #[must_use]
    #[inline]
    pub fn with_spent(mut self, sum: Option<&str>) -> Self {
        if let Some(sum) = sum {
            spent_mark::mark(&mut self.messages, sum);
        }
        self
    }

    /// Sets the journal of the turn, which the commit closes.
    #[doc(hidden)]
    #[must_use]
    #[inline]
    pub fn with_journal(mut self, journal: Option<JournalPosition>) -> Self {
        self.journal = journal.map(Box::new);
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

    /// Returns the position of the turn's journal. A memory of your own passes it
    /// [to the change](Change::closing).
    #[must_use]
    pub fn journal(&self) -> Option<JournalPosition> {
        self.journal.as_deref().copied()
    }

    /// Stores the summary with the turn, unless a message that is kept carries it already.
    fn carry_summary(&mut self, evict: usize) {
        let Some(summary) = self.snapshot.summary() else { return };
        let kept = self.snapshot.history().skip(evict);
        if summary::carried_by(kept) != Some(summary) {
            summary::carry(&mut self.messages, summary);
        }
    }

    /// Returns the whole list after the turn, without the `evict` oldest messages of the history.
    #[must_use]
    pub fn into_messages(mut self, evict: usize) -> Vec<ChatMessage> {
        self.carry_summary(evict);
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
    pub fn into_change(mut self, evict: usize) -> Change {
        let (version, lease, request) = (self.snapshot.version, self.lease, self.request.clone());
        let journal = self.journal();
        let change = if self.snapshot.rewritten {
            let messages = Messages::from(self.into_messages(evict));
            messages.mark_complete();
            Change::replace(version, messages)
        } else {
            self.carry_summary(evict);
            let Snapshot { system, folded, .. } = self.snapshot;
            let evict = system..system + folded + evict;
            let numbers = self.snapshot.numbers_of(&evict);
            Change::turn(version, evict, self.messages).with_numbers(numbers)
        };
        let change = change.with_request(request).closing(journal);
        match lease {
            Some(lease) => change.with_lease(lease),
            None => change,
        }
    }
}
