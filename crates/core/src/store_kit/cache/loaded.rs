//! Rows as a store reads them, compared with the state that the cache has.

use super::super::plan::{ConversationHead, check_rows};
use super::super::record;
use crate::memory::{CommitLog, ENTRY_BYTES, JournalPosition, MemoryId, Numbers, UnreadableRecord};
use crate::message::ChatMessage;
use std::ops::Range;
use std::sync::Arc;

/// An entry of a log of commits. Its random number identifies a state of a conversation, even if the
/// conversation was deleted and created again, or restored from a backup.
pub(super) type CommitEntry = [u8; ENTRY_BYTES];

/// A state of a conversation that a [`ConversationCache`](super::ConversationCache) has.
#[derive(Clone, Debug)]
pub struct KnownConversation {
    pub(super) version: u64,
    pub(super) newest_commit: CommitEntry,
    pub(super) numbers: Arc<Numbers>,
    pub(super) reads_all: bool,
}

impl KnownConversation {
    /// Returns the number of the first row to read, for [`StoredRows::Since`]: the newest row that the cache
    /// has. Returns `None` if [all rows](StoredRows::All) have to be read.
    #[must_use]
    pub fn first_row(&self) -> Option<u64> {
        (!self.reads_all).then(|| self.numbers.last().unwrap_or(self.version + 1))
    }

    /// Returns the numbers of the two oldest rows that the cache has. No row in memory has a number below the
    /// first one or between them.
    #[must_use]
    pub fn oldest_rows(&self) -> [u64; 2] {
        [0, 1].map(|index| self.numbers.get(index).unwrap_or(self.version + 1))
    }

    /// Returns whether the stored conversation is this state, or this state with further commits.
    ///
    /// Rows do not change after their commit, so all known rows are then valid unless they were evicted.
    fn precedes(&self, head: Option<ConversationHead>, commits: &CommitLog) -> bool {
        let Some(head) = head else { return false };
        let is_newest = commits.newest() == Some(&self.newest_commit[..]);
        commits.contains(&self.newest_commit)
            && head.version >= self.version
            && is_newest == (head.version == self.version)
    }
}

/// A conversation as a store reads it, in one consistent read.
#[derive(Debug)]
pub struct StoredConversation<D> {
    /// Head of the conversation; `None` if it does not exist.
    pub head: Option<ConversationHead>,
    /// Log of commits in the head; empty if the conversation does not exist.
    pub commits: CommitLog,
    /// Rows in memory.
    pub rows: StoredRows<D>,
}

/// The rows of a conversation in memory, or the newest of them: number and record, in ascending order.
#[derive(Debug)]
pub enum StoredRows<D> {
    /// All rows.
    All(Vec<(u64, D)>),
    /// The rows from [`KnownConversation::first_row`] on.
    Since {
        /// Numbers of the two oldest rows in memory; fewer if there are fewer rows.
        ///
        /// A database in which deleted rows slow down a scan may return the first row in memory from each of
        /// [`KnownConversation::oldest_rows`] on instead, possibly the same one twice.
        oldest: Vec<u64>,
        /// The rows from this number on.
        rows: Vec<(u64, D)>,
    },
}

/// A conversation that was read and decoded.
#[derive(Debug)]
pub struct LoadedConversation(pub(super) Outcome);

impl LoadedConversation {
    /// Sets the position of the open journal, from the same read. It is never cached. Default: no journal is
    /// open.
    #[must_use]
    pub fn with_journal(mut self, position: Option<JournalPosition>) -> Self {
        if let Outcome::Read(read) = &mut self.0 {
            read.journal = position;
        }
        self
    }
}

#[derive(Debug)]
pub(super) enum Outcome {
    /// The known state and the rows that were read do not result in the stored state.
    Outdated,
    Read(Read),
}

#[derive(Debug)]
pub(super) struct Read {
    pub(super) version: u64,
    pub(super) newest_commit: Option<CommitEntry>,
    /// Indices of the known messages that were evicted, ascending. `None` if the known state does not precede
    /// the stored one, so that `rows` are all rows.
    pub(super) evicted: Option<Vec<Range<usize>>>,
    /// Rows that the cache does not have.
    pub(super) rows: Vec<DecodedRow>,
    pub(super) journal: Option<JournalPosition>,
}

#[derive(Debug)]
pub(super) struct DecodedRow {
    pub(super) number: u64,
    pub(super) message: ChatMessage,
    /// Length of the record in bytes.
    pub(super) length: usize,
}

impl<D: AsRef<[u8]>> StoredConversation<D> {
    /// Validates the rows, and decodes those that the cache does not have. `known` is the state that the
    /// store received from [`ConversationCache::load`](super::ConversationCache::load).
    ///
    /// # Errors
    ///
    /// Same as [`plan::snapshot`](crate::store_kit::plan::snapshot).
    pub fn decode(
        self,
        id: &MemoryId,
        known: Option<&KnownConversation>,
    ) -> Result<LoadedConversation, UnreadableRecord> {
        let Self { head, commits, rows } = self;
        let known = known.filter(|known| known.precedes(head, &commits));
        let (evicted, new) = match rows {
            StoredRows::All(rows) => {
                check_rows(id, head, &rows)?;
                all_rows(id, &rows, known)?
            }
            StoredRows::Since { oldest, rows } => {
                let newer = match (head, known) {
                    (Some(head), Some(known)) => newer_rows(id, head, &oldest, &rows, known)?,
                    _ => None,
                };
                let Some((evicted, new)) = newer else {
                    return Ok(LoadedConversation(Outcome::Outdated));
                };
                (Some(evicted), new)
            }
        };
        Ok(LoadedConversation(Outcome::Read(Read {
            version: head.map_or(0, |head| head.version),
            newest_commit: commits.newest().and_then(|entry| entry.try_into().ok()),
            evicted,
            rows: new,
            journal: None,
        })))
    }
}

/// The evicted indices of the known state, and the new rows.
type Changes<E> = (E, Vec<DecodedRow>);

/// Verifies the known rows and decodes the others.
fn all_rows<D: AsRef<[u8]>>(
    id: &MemoryId,
    rows: &[(u64, D)],
    known: Option<&KnownConversation>,
) -> Result<Changes<Option<Vec<Range<usize>>>>, UnreadableRecord> {
    let is_known = |number| known.is_some_and(|known| known.numbers.position(number).is_some());
    let start = rows.partition_point(|(number, _)| known.is_some_and(|it| *number <= it.version));
    let (old, new) = rows.split_at_checked(start).unwrap_or_default();
    let Some(known) = known.filter(|_| old.iter().all(|(number, _)| is_known(*number))) else {
        return Ok((None, decoded(id, rows)?));
    };
    for (number, data) in old {
        record::verify(id, *number, data.as_ref())?;
    }
    let mut kept = old.iter().map(|(number, _)| *number).peekable();
    let mut evicted: Vec<Range<usize>> = Vec::new();
    for (index, number) in known.numbers.iter().enumerate() {
        if kept.next_if_eq(&number).is_none() {
            match evicted.last_mut() {
                Some(last) if last.end == index => last.end += 1,
                _ => evicted.push(index..index + 1),
            }
        }
    }
    Ok((Some(evicted), decoded(id, new)?))
}

/// Derives the stored state from the known state and the rows since then. Returns `None` if that is not
/// possible, for example after a replacement of messages in the middle.
fn newer_rows<D: AsRef<[u8]>>(
    id: &MemoryId,
    head: ConversationHead,
    oldest: &[u64],
    rows: &[(u64, D)],
    known: &KnownConversation,
) -> Result<Option<Changes<Vec<Range<usize>>>>, UnreadableRecord> {
    let start = rows.partition_point(|(number, _)| *number <= known.version);
    let (old, new) = rows.split_at_checked(start).unwrap_or_default();
    let Some(evicted) = evicted(known, oldest) else { return Ok(None) };
    let gone: usize = evicted.iter().map(ExactSizeIterator::len).sum();
    let count = known.numbers.len();
    let is_newest_gone = evicted.last().is_some_and(|last| last.end == count);
    let newest = known.numbers.last().filter(|_| !is_newest_gone);
    // The remaining rows are a subset of those that the oldest numbers leave, and as many: the same.
    let is_counted = count.checked_sub(gone).map(|kept| (kept + new.len()) as u64);
    let is_ascending = rows.is_sorted_by(|(one, _), (other, _)| one < other);
    if is_counted != Some(head.messages)
        || !old.iter().map(|(number, _)| *number).eq(newest)
        || !is_ascending
        || new.last().is_some_and(|(number, _)| *number > head.version)
    {
        return Ok(None);
    }
    for (number, data) in old {
        record::verify(id, *number, data.as_ref())?;
    }
    Ok(Some((evicted, decoded(id, new)?)))
}

/// Returns the indices of the known messages that are evicted if these are the oldest rows: all but the first
/// one, if it is there, and those from the next one on. `None` if that is not a known row.
fn evicted(known: &KnownConversation, oldest: &[u64]) -> Option<Vec<Range<usize>>> {
    let [first, second] = known.oldest_rows();
    let next = oldest.iter().copied().filter(|number| (second..=known.version).contains(number));
    let count = known.numbers.len();
    let next = match next.min() {
        Some(number) => known.numbers.position(number)?,
        None => count,
    };
    let start = usize::from(oldest.contains(&first));
    Some(Vec::from_iter(Some(start..next).filter(|range| !range.is_empty())))
}

fn decoded<D: AsRef<[u8]>>(
    id: &MemoryId,
    rows: &[(u64, D)],
) -> Result<Vec<DecodedRow>, UnreadableRecord> {
    let decoded = rows.iter().map(|(number, data)| {
        let (number, data) = (*number, data.as_ref());
        let message = record::decode(id, number, data)?;
        Ok(DecodedRow { number, message, length: data.len() })
    });
    decoded.collect()
}
