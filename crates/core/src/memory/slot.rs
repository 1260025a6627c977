//! One conversation in the in-memory stores.

use super::{
    Change, CommitLog, CommitState, Difference, EvictedMessages, HistoryEntry, HistoryPosition,
    JournalPosition, MemoryId, Numbers, OpenJournal, PendingCommit, RequestId, Snapshot,
    TurnJournal, journal_moved,
};
use crate::error::{Error, ErrorKind, Result};
use crate::message::{ChatMessage, Messages};
use std::time::SystemTime;

/// The messages of one conversation, with their positions in its history.
#[derive(Debug)]
pub(super) struct Slot {
    messages: Messages,
    /// Zero for a conversation without a commit.
    pub(super) version: u64,
    /// The positions of `messages`.
    positions: Numbers,
    /// The position of the next message.
    next: u64,
    evicted: Vec<(u64, ChatMessage)>,
    /// The last commits that belong to a request.
    commits: CommitLog,
    /// The open journal, with the time of its last append.
    journal: Option<(TurnJournal, SystemTime)>,
    last_updated: SystemTime,
}

impl Default for Slot {
    fn default() -> Self {
        Self {
            messages: Messages::new(),
            version: 0,
            positions: Numbers::default(),
            next: 1,
            evicted: Vec::new(),
            commits: CommitLog::default(),
            journal: None,
            last_updated: SystemTime::UNIX_EPOCH,
        }
    }
}

impl Slot {
    pub(super) fn snapshot(&self) -> Snapshot {
        Snapshot::new(self.messages.clone(), Some(self.version)).with_journal(self.position())
    }

    /// Returns the time of the last commit.
    pub(super) fn last_commit(&self) -> SystemTime {
        self.last_updated
    }

    /// Returns the time of the last commit or append.
    pub(super) fn last_write(&self) -> SystemTime {
        let appended = self.journal.as_ref().map(|(_, time)| *time);
        appended.map_or(self.last_updated, |time| time.max(self.last_updated))
    }

    pub(super) fn messages(&self) -> &Messages {
        &self.messages
    }

    /// Applies a change if it may be applied to this version.
    pub(super) fn commit(
        &mut self,
        id: &MemoryId,
        change: Change,
        version: u64,
        policy: EvictedMessages,
    ) -> Result<()> {
        let pending = change.request().map(|_| PendingCommit::new(id, &change));
        if let Some(pending) = &pending {
            pending.settle(self.version, &self.commits)?;
        }
        if change.expected_version().is_some_and(|expected| expected != self.version) {
            return Err(conflict(id));
        }
        if let Some(closed) = change.closed_journal() {
            self.discard_journal(id, closed)?;
        }
        if let Some(pending) = pending {
            self.commits.push(pending.entry(self.version));
        }
        self.apply(change, version, policy);
        Ok(())
    }

    pub(super) fn commit_state(&self, request: &RequestId) -> CommitState {
        self.commits.state_of(request)
    }

    pub(super) fn journal(&self) -> Option<TurnJournal> {
        self.journal.as_ref().map(|(journal, _)| journal.clone())
    }

    pub(super) fn open_journal(&self, id: &MemoryId) -> Option<OpenJournal> {
        let (journal, last_updated) = self.journal.as_ref()?;
        Some(OpenJournal::new(id.clone(), journal.position(), *last_updated))
    }

    /// Appends records to the journal if it has this position.
    pub(super) fn append(
        &mut self,
        id: &MemoryId,
        position: JournalPosition,
        records: &[String],
    ) -> Result<JournalPosition> {
        let is_start = position.length == 0;
        let expected = if is_start { None } else { Some(position) };
        if self.position() != expected {
            return Err(journal_moved(id));
        }
        if records.is_empty() {
            return Ok(position);
        }
        let open = || (TurnJournal::new(position.turn, Vec::new()), SystemTime::UNIX_EPOCH);
        let (journal, last_updated) = self.journal.get_or_insert_with(open);
        journal.records.extend_from_slice(records);
        *last_updated = SystemTime::now();
        Ok(journal.position())
    }

    /// Deletes the journal if it has this position.
    pub(super) fn discard_journal(
        &mut self,
        id: &MemoryId,
        position: JournalPosition,
    ) -> Result<()> {
        if self.position() != Some(position) {
            return Err(journal_moved(id));
        }
        self.journal = None;
        Ok(())
    }

    /// Deletes all messages and the journal. Keeps the log of commits.
    pub(super) fn clear(&mut self, version: u64) {
        self.journal = None;
        self.apply(Change::replace(None, <_>::default()), version, EvictedMessages::Delete);
    }

    fn position(&self) -> Option<JournalPosition> {
        self.journal.as_ref().map(|(journal, _)| journal.position())
    }

    /// Returns `true` if nothing was ever committed, and no journal is open.
    pub(super) fn is_unused(&self) -> bool {
        self.version == 0 && self.journal.is_none()
    }

    /// Returns `true` if the slot has neither messages nor evicted messages.
    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty() && self.evicted.is_empty()
    }

    fn apply(&mut self, change: Change, version: u64, policy: EvictedMessages) {
        // From the newest to the oldest, so that a removal does not shift the remaining indices.
        let appended = match change.evicted() {
            Some(range) => {
                let end = range.end.min(self.messages.len());
                (range.start.min(end)..end).rev().for_each(|at| self.evict(at, policy));
                change.appended().count()
            }
            None => {
                let new: Vec<_> = change.appended().collect();
                let old: Vec<_> = self.messages.iter().collect();
                let Difference { evicted, kept } = Difference::between(&old, &new);
                evicted.into_iter().rev().for_each(|at| self.evict(at, policy));
                new.len() - kept
            }
        };
        let new = self.next..self.next + appended as u64;
        self.next = new.end;
        self.positions.append(new);
        change.apply(&mut self.messages);
        self.version = version;
        self.last_updated = SystemTime::now();
    }

    /// Removes the position of the message at index `at`. The history keeps the message if the policy
    /// says so.
    fn evict(&mut self, at: usize, policy: EvictedMessages) {
        let position = self.positions.remove(at);
        if policy == EvictedMessages::Keep
            && let (Some(position), Some(message)) = (position, self.messages.get(at))
        {
            self.evicted.push((position, message.clone()));
        }
    }

    /// Returns a page of the history.
    pub(super) fn history(&self, position: HistoryPosition, limit: usize) -> Vec<HistoryEntry> {
        let evicted = self.evicted.iter();
        let evicted = evicted.map(|(at, message)| HistoryEntry::new(*at, message.clone(), true));
        let current = self.positions.iter().zip(self.messages.iter());
        let current = current.map(|(at, message)| HistoryEntry::new(at, message.clone(), false));
        let mut entries: Vec<_> = evicted.chain(current).collect();
        entries.sort_unstable_by_key(|entry| entry.position);
        match position {
            HistoryPosition::Oldest | HistoryPosition::Newest => {}
            HistoryPosition::After(after) => entries.retain(|entry| entry.position > after),
            HistoryPosition::Before(before) => entries.retain(|entry| entry.position < before),
        }
        match position {
            HistoryPosition::Oldest | HistoryPosition::After(_) => entries.truncate(limit),
            HistoryPosition::Newest | HistoryPosition::Before(_) => {
                entries.drain(..entries.len().saturating_sub(limit));
            }
        }
        entries
    }
}

/// Creates the error of a change whose lease is no longer held.
pub fn lease_lost(id: &MemoryId) -> Error {
    Error::new(
        ErrorKind::Conflict,
        format!(
            "the lease of the conversation `{id}` was lost: it expired, or another process took it; load \
             the conversation again"
        ),
    )
}

/// Creates the error of a change that is based on another version.
pub fn conflict(id: &MemoryId) -> Error {
    Error::new(
        ErrorKind::Conflict,
        format!("the conversation `{id}` was changed since it was loaded; load it again"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::ops::Range;

    fn message(n: u8) -> ChatMessage {
        ChatMessage::user(n.to_string())
    }

    fn advance(evict: Range<usize>, append: &[u8]) -> Change {
        Change::advance(None, evict, append.iter().copied().map(message).collect())
    }

    fn replace(new: &[u8]) -> Change {
        Change::replace(None, new.iter().copied().map(message).collect())
    }

    fn slot(changes: impl IntoIterator<Item = Change>) -> Slot {
        let mut slot = Slot::default();
        for (change, version) in changes.into_iter().zip(1..) {
            slot.apply(change, version, EvictedMessages::Keep);
        }
        slot
    }

    /// Returns the positions in memory and the evicted positions.
    fn positions(slot: &Slot) -> [Vec<u64>; 2] {
        let all = slot.history(HistoryPosition::Oldest, usize::MAX);
        let evicted = |evicted| {
            let found = all.iter().filter(move |entry| entry.is_evicted == evicted);
            found.map(|entry| entry.position).collect()
        };
        [evicted(false), evicted(true)]
    }

    #[test]
    fn eviction_after_a_pinned_message_keeps_its_position() {
        let slot = slot([advance(0..0, &[1, 2, 3, 4]), advance(1..3, &[5])]);
        assert_eq!(positions(&slot), [vec![1, 4, 5], vec![2, 3]]);
    }

    #[test]
    fn eviction_past_the_end_stops_at_the_end() {
        let slot = slot([advance(0..0, &[1, 2]), advance(1..9, &[3]), advance(7..9, &[])]);
        assert_eq!(positions(&slot), [vec![1, 3], vec![2]]);
    }

    #[test]
    fn positions_are_never_reused() {
        let slot = slot([advance(0..0, &[1, 2]), advance(0..2, &[]), advance(0..0, &[3])]);
        assert_eq!(positions(&slot), [vec![3], vec![1, 2]]);
    }

    #[test]
    fn replacement_keeps_positions_of_remaining_messages() {
        let slot = slot([replace(&[1, 2, 3]), replace(&[2, 3, 4]), replace(&[4, 2])]);
        assert_eq!(positions(&slot), [vec![4, 5], vec![1, 2, 3]]);
    }

    #[test]
    fn slot_with_evicted_messages_is_not_empty() {
        for (policy, is_empty) in [(EvictedMessages::Delete, true), (EvictedMessages::Keep, false)]
        {
            let mut slot = Slot::default();
            slot.apply(advance(0..0, &[1]), 1, policy);
            slot.apply(replace(&[]), 2, policy);
            assert_eq!(slot.is_empty(), is_empty);
            assert!(slot.messages().is_empty());
        }
    }

    #[test]
    fn pages_start_and_end_at_their_positions() {
        let slot = slot([advance(0..0, &[1, 2, 3, 4]), advance(0..2, &[])]);
        let page = |position, limit| -> Vec<u64> {
            slot.history(position, limit).iter().map(|entry| entry.position).collect()
        };
        assert_eq!(page(HistoryPosition::Oldest, 3), [1, 2, 3]);
        assert_eq!(page(HistoryPosition::After(1), 2), [2, 3]);
        assert_eq!(page(HistoryPosition::Newest, 3), [2, 3, 4]);
        assert_eq!(page(HistoryPosition::Before(4), 2), [2, 3]);
        assert!(page(HistoryPosition::After(4), 2).is_empty());
    }

    fn change() -> impl Strategy<Value = Change> {
        let list = || prop::collection::vec(0_u8..4, 0..5);
        prop_oneof![
            3 => (0_usize..8, 0_usize..8, list()).prop_map(|(a, b, new)| advance(a..b, &new)),
            1 => list().prop_map(|new| replace(&new)),
        ]
    }

    proptest! {
        /// Compares the history with a list of all messages, each with an evicted flag.
        #[test]
        fn history_contains_every_message(changes in prop::collection::vec(change(), 0..20)) {
            let mut log: Vec<(ChatMessage, bool)> = Vec::new();
            let mut slot = Slot::default();
            let mut forgetful = Slot::default();
            for (change, version) in changes.into_iter().zip(1..) {
                let mut expected = slot.messages().clone();
                change.clone().apply(&mut expected);
                let current: Vec<usize> =
                    (0..log.len()).filter(|at| !log[*at].1).collect();
                let new: Vec<_> = change.appended().cloned().collect();
                let mut kept = 0;
                for (index, at) in current.into_iter().enumerate() {
                    let stays = match change.evicted() {
                        Some(range) => !range.contains(&index),
                        None => {
                            let stays = new.get(kept) == Some(&log[at].0);
                            kept += usize::from(stays);
                            stays
                        }
                    };
                    log[at].1 = !stays;
                }
                log.extend(new.into_iter().skip(kept).map(|message| (message, false)));

                slot.apply(change.clone(), version, EvictedMessages::Keep);
                forgetful.apply(change, version, EvictedMessages::Delete);
                prop_assert_eq!(slot.messages(), &expected);
                prop_assert_eq!(forgetful.messages(), &expected);
                let history = |slot: &Slot| slot.history(HistoryPosition::Oldest, usize::MAX);
                // No message is lost, so each position equals the place in the list.
                let all = log.iter().zip(1..).map(|((message, is_evicted), position)| {
                    HistoryEntry::new(position, message.clone(), *is_evicted)
                });
                let all: Vec<_> = all.collect();
                let current: Vec<_> = all.iter().filter(|e| !e.is_evicted).cloned().collect();
                prop_assert_eq!(history(&slot), all);
                prop_assert_eq!(history(&forgetful), current);
            }
        }
    }
}
