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

pub(crate) fn conflict(id: &MemoryId) -> Error {
    Error::new(
        ErrorKind::Conflict,
        format!("the conversation `{id}` was changed since it was loaded; load it again"),
    )
}
