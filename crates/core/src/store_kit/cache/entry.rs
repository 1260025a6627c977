//! One cached conversation.

use super::loaded::{CommitEntry, DecodedRow, KnownConversation, Read};
use crate::memory::{Change, Numbers, Snapshot};
use crate::message::{ChatMessage, Messages};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// Number of known rows that an average load reads again, to detect damage. All rows are read by every load
/// for which the number of loads since then, times this number, reaches the number of messages.
const ROWS_READ_AGAIN: usize = 4;

/// Size of a message without its text, in bytes.
const MESSAGE_BYTES: usize = 128;

/// Size of a conversation without its messages, in bytes.
const CONVERSATION_BYTES: usize = 512;

/// The newest state of a conversation that was read.
#[derive(Debug, Default)]
pub(super) struct Entry {
    messages: Messages,
    numbers: Arc<Numbers>,
    version: u64,
    newest_commit: Option<CommitEntry>,
    /// Estimated size of each message.
    sizes: VecDeque<u32>,
    bytes: usize,
    /// Number of loads since all rows were read.
    loads: usize,
    /// The last change that was committed through the cache, until the next load reads it.
    committed: Option<Committed>,
}

#[derive(Debug)]
struct Committed {
    change: Change,
    bytes: usize,
}

impl Entry {
    /// Returns the state for a store, unless it cannot be identified in the log of commits.
    pub(super) fn known(&self) -> Option<KnownConversation> {
        Some(KnownConversation {
            version: self.version,
            newest_commit: self.newest_commit?,
            numbers: Arc::clone(&self.numbers),
            reads_all: (self.loads + 1) * ROWS_READ_AGAIN >= self.messages.len(),
        })
    }

    /// Returns the number of messages.
    pub(super) fn len(&self) -> usize {
        self.messages.len()
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        let snapshot = Snapshot::new(self.messages.clone(), Some(self.version));
        snapshot.with_numbers(Arc::clone(&self.numbers))
    }

    /// Returns the estimated size in bytes, including one encoding of each message.
    pub(super) fn bytes(&self) -> usize {
        let committed = self.committed.as_ref().map_or(0, |committed| committed.bytes);
        CONVERSATION_BYTES + self.bytes + committed
    }

    /// Keeps the messages of a change that was committed, unless it was a replacement: most of its messages
    /// are known already.
    pub(super) fn keep_committed(&mut self, change: &Change) {
        self.committed = change.record_bytes().map(|bytes| Committed {
            change: change.clone(),
            bytes: size(bytes, change.appended().count()),
        });
    }

    /// Changes the entry to the state that was read.
    pub(super) fn update(&mut self, read: Read, reads_all: bool) {
        let Read { version, newest_commit, evicted, rows, journal: _ } = read;
        let change = self.committed.take().map(|committed| committed.change);
        if evicted.is_none() && !self.messages.is_empty() {
            // All messages were read, without a relation to the known ones.
            *self = Self::default();
        }
        let evicted = evicted.unwrap_or_default();
        let numbers = Arc::make_mut(&mut self.numbers);
        for range in evicted.iter().rev() {
            numbers.remove_range(range.clone());
            let end = range.end.min(self.sizes.len());
            let removed = self.sizes.drain(range.start.min(end)..end);
            let removed: usize = removed.map(|size| size as usize).sum();
            self.bytes = self.bytes.saturating_sub(removed);
        }
        let mut new = Vec::with_capacity(rows.len());
        for DecodedRow { number, message, length } in rows {
            numbers.append(number..number + 1);
            let size = u32::try_from(size(length, 1)).unwrap_or(u32::MAX);
            self.sizes.push_back(size);
            self.bytes = self.bytes.saturating_add(size as usize);
            new.push(message);
        }
        apply(&mut self.messages, change, &evicted, new);
        (self.version, self.newest_commit) = (version, newest_commit);
        self.loads = if reads_all { 0 } else { self.loads + 1 };
    }
}

/// Evicts messages and appends new ones. If that is exactly the change that was committed, its messages are
/// used instead of the equal new ones, and it is applied as a change: a list of complete turns stays one.
fn apply(
    messages: &mut Messages,
    change: Option<Change>,
    evicted: &[Range<usize>],
    mut new: Vec<ChatMessage>,
) {
    if let Some(change) = change {
        let mut shared = 0;
        for (message, known) in new.iter_mut().zip(change.appended()) {
            if message != known {
                break;
            }
            message.clone_from(known);
            shared += 1;
        }
        let is_all = shared == new.len() && shared == change.appended().count();
        if is_all && evicts(&change, messages.len()).is_some_and(|range| evicted.iter().eq(&range))
        {
            return change.apply(messages);
        }
    }
    evicted.iter().rev().for_each(|range| messages.remove(range.clone()));
    if !new.is_empty() {
        messages.extend(new);
    }
}

/// Returns the range that the change evicts from a list of this length, if it is not a replacement.
fn evicts(change: &Change, length: usize) -> Option<Option<Range<usize>>> {
    let range = change.evicted()?;
    let range = range.start..range.end.min(length);
    Some(Some(range).filter(|range| !range.is_empty()))
}

/// Returns the estimated size of messages from the length of their records together.
fn size(record_bytes: usize, messages: usize) -> usize {
    2 * record_bytes + MESSAGE_BYTES * messages
}
