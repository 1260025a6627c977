//! One conversation in the memory of the process.

use super::{
    Change, Difference, EvictedMessages, HistoryEntry, HistoryPosition, MemoryId, Snapshot,
};
use crate::error::{Error, ErrorKind};
use crate::message::{ChatMessage, Messages};
use std::ops::Range;
use std::time::SystemTime;

/// The messages of one conversation, with their positions in its history.
#[derive(Debug)]
pub(super) struct Slot {
    messages: Messages,
    /// 0 for a conversation that has not begun.
    pub(super) version: u64,
    /// The positions of `messages`, as runs: usually one, behind the one of a system message.
    positions: Vec<Range<u64>>,
    /// The position of the next message.
    next: u64,
    evicted: Vec<(u64, ChatMessage)>,
    pub(super) last_used: SystemTime,
}

impl Default for Slot {
    fn default() -> Self {
        Self {
            messages: Messages::new(),
            version: 0,
            positions: Vec::new(),
            next: 1,
            evicted: Vec::new(),
            last_used: SystemTime::UNIX_EPOCH,
        }
    }
}

impl Slot {
    pub(super) fn snapshot(&self) -> Snapshot {
        Snapshot::new(self.messages.clone(), Some(self.version))
    }

    pub(super) fn messages(&self) -> &Messages {
        &self.messages
    }

    pub(super) fn is_expected_by(&self, change: &Change) -> bool {
        change.expected_version().is_none_or(|version| version == self.version)
    }

    /// Whether nothing is left that somebody could read.
    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty() && self.evicted.is_empty()
    }

    pub(super) fn apply(&mut self, change: Change, version: u64, policy: EvictedMessages) {
        let (evicted, appended) = match change.evicted() {
            Some(range) => {
                let end = range.end.min(self.messages.len());
                (Evicted::Range(range.start.min(end)..end), change.appended().count())
            }
            None => {
                let new: Vec<_> = change.appended().collect();
                let old: Vec<_> = self.messages.iter().collect();
                let Difference { evicted, kept } = Difference::between(&old, &new);
                (Evicted::Positions(evicted), new.len() - kept)
            }
        };
        for at in evicted.newest_first() {
            let position = self.forget_position(at);
            if policy == EvictedMessages::Keep
                && let (Some(position), Some(message)) = (position, self.messages.get(at))
            {
                self.evicted.push((position, message.clone()));
            }
        }
        self.number(appended as u64);
        change.apply(&mut self.messages);
        self.version = version;
        self.last_used = SystemTime::now();
    }

    /// A page of what was said.
    pub(super) fn history(&self, position: HistoryPosition, limit: usize) -> Vec<HistoryEntry> {
        let evicted = self.evicted.iter();
        let evicted = evicted.map(|(at, message)| HistoryEntry::new(*at, message.clone(), true));
        let current = self.positions.iter().cloned().flatten().zip(self.messages.iter());
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

    /// Takes away the position of the message at index `at`.
    fn forget_position(&mut self, at: usize) -> Option<u64> {
        let mut before = at as u64;
        for (index, run) in self.positions.iter_mut().enumerate() {
            let length = run.end - run.start;
            if before >= length {
                before -= length;
                continue;
            }
            let position = run.start + before;
            let behind = position + 1..run.end;
            run.end = position;
            if run.is_empty() {
                self.positions.remove(index);
                if !behind.is_empty() {
                    self.positions.insert(index, behind);
                }
            } else if !behind.is_empty() {
                self.positions.insert(index + 1, behind);
            }
            return Some(position);
        }
        None
    }

    /// Gives positions to messages that come at the end.
    fn number(&mut self, count: u64) {
        let new = self.next..self.next + count;
        self.next = new.end;
        match self.positions.last_mut() {
            Some(last) if last.end == new.start => last.end = new.end,
            _ if new.is_empty() => {}
            _ => self.positions.push(new),
        }
    }
}

/// Which messages go, by their indices.
enum Evicted {
    Range(Range<usize>),
    Positions(Vec<usize>),
}

impl Evicted {
    /// From the last to the first, so that each index is still true when its turn comes.
    fn newest_first(self) -> impl Iterator<Item = usize> {
        let (range, positions) = match self {
            Self::Range(range) => (range, Vec::new()),
            Self::Positions(positions) => (0..0, positions),
        };
        range.rev().chain(positions.into_iter().rev())
    }
}

/// The error of a change that names a lease that is not held any more.
#[cfg(feature = "_store")]
pub(crate) fn lease_lost(id: &MemoryId) -> Error {
    Error::new(
        ErrorKind::Conflict,
        format!(
            "the lease of the conversation `{id}` was lost: it ended, or another process took it; load \
             the conversation again"
        ),
    )
}

/// The error of a change that was made for another version.
pub(crate) fn conflict(id: &MemoryId) -> Error {
    Error::new(
        ErrorKind::Conflict,
        format!("the conversation `{id}` was changed since it was loaded; load it again"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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

    /// The positions in memory and those that were evicted.
    fn positions(slot: &Slot) -> [Vec<u64>; 2] {
        let all = slot.history(HistoryPosition::Oldest, usize::MAX);
        let evicted = |evicted| {
            let found = all.iter().filter(move |entry| entry.is_evicted == evicted);
            found.map(|entry| entry.position).collect()
        };
        [evicted(false), evicted(true)]
    }

    #[test]
    fn eviction_behind_a_pinned_message_splits_a_run() {
        let slot = slot([advance(0..0, &[1, 2, 3, 4]), advance(1..3, &[5])]);
        assert_eq!(slot.positions, [1..2, 4..6]);
        assert_eq!(positions(&slot), [vec![1, 4, 5], vec![2, 3]]);
    }

    #[test]
    fn eviction_past_the_end_takes_what_is_there() {
        let slot = slot([advance(0..0, &[1, 2]), advance(1..9, &[3]), advance(7..9, &[])]);
        assert_eq!(positions(&slot), [vec![1, 3], vec![2]]);
    }

    #[test]
    fn position_is_never_given_twice() {
        let slot = slot([advance(0..0, &[1, 2]), advance(0..2, &[]), advance(0..0, &[3])]);
        assert_eq!(positions(&slot), [vec![3], vec![1, 2]]);
    }

    #[test]
    fn replacement_keeps_the_positions_of_what_stays() {
        let slot = slot([replace(&[1, 2, 3]), replace(&[2, 3, 4]), replace(&[4, 2])]);
        assert_eq!(positions(&slot), [vec![4, 5], vec![1, 2, 3]]);
    }

    #[test]
    fn forgotten_slot_is_empty_and_kept_one_is_not() {
        for (policy, is_empty) in [(EvictedMessages::Forget, true), (EvictedMessages::Keep, false)]
        {
            let mut slot = Slot::default();
            slot.apply(advance(0..0, &[1]), 1, policy);
            slot.apply(replace(&[]), 2, policy);
            assert_eq!(slot.is_empty(), is_empty);
            assert!(slot.messages().is_empty());
        }
    }

    #[test]
    fn pages_meet_at_both_ends() {
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
        /// The same rows as a list of everything that was ever said, with flags.
        #[test]
        fn history_is_what_was_said(changes in prop::collection::vec(change(), 0..20)) {
            let mut said: Vec<(ChatMessage, bool)> = Vec::new();
            let mut slot = Slot::default();
            let mut forgetful = Slot::default();
            for (change, version) in changes.into_iter().zip(1..) {
                let mut expected = slot.messages().clone();
                change.clone().apply(&mut expected);
                let current: Vec<usize> =
                    (0..said.len()).filter(|at| !said[*at].1).collect();
                let new: Vec<_> = change.appended().cloned().collect();
                let mut kept = 0;
                for (index, at) in current.into_iter().enumerate() {
                    let stays = match change.evicted() {
                        Some(range) => !range.contains(&index),
                        None => {
                            let stays = new.get(kept) == Some(&said[at].0);
                            kept += usize::from(stays);
                            stays
                        }
                    };
                    said[at].1 = !stays;
                }
                said.extend(new.into_iter().skip(kept).map(|message| (message, false)));

                slot.apply(change.clone(), version, EvictedMessages::Keep);
                forgetful.apply(change, version, EvictedMessages::Forget);
                prop_assert_eq!(slot.messages(), &expected);
                prop_assert_eq!(forgetful.messages(), &expected);
                let history = |slot: &Slot| slot.history(HistoryPosition::Oldest, usize::MAX);
                // Nothing is lost, so that positions are those in the list.
                let all = said.iter().zip(1..).map(|((message, is_evicted), position)| {
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
