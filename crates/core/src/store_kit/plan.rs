//! Translation of changes into numbered rows, for stores of conversations.
//!
//! The version of a conversation is also the number of its newest row: a commit at version `v` that appends
//! `n` messages numbers them `v + 1 … v + n`, and the new version is `v + n`, or `v + 1` if it appends no
//! messages. A store that has the version can therefore write the rows and their checksums without reading
//! first. An unknown conversation has version 0. Its first commit starts at a random number, so that no
//! version occurs twice if a conversation is deleted and created again.

use super::record;
use crate::error::{Error, ErrorKind, Result};
use crate::memory::{Change, Difference, MemoryId, Numbers, Snapshot, UnreadableRecord};
use crate::message::ChatMessage;
use crate::random::random;
use std::ops::Range;

/// Upper bound (exclusive) of versions. A smaller integer is exact as a double, which database scripts
/// compute in.
const MAX_VERSION: u64 = 1 << 53;

/// Upper bound of first versions: large enough that random values do not collide, and far below
/// [`MAX_VERSION`].
const MAX_FIRST_VERSION: u64 = 1 << 47;

/// The head of a stored conversation. A store reads it from the database and passes it to [`snapshot`] and
/// [`CommitPlan::for_replacement`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConversationHead {
    /// Version of the conversation.
    pub version: u64,
    /// Number of messages in memory, without evicted ones.
    pub messages: u64,
}

/// The rows that a commit has to evict and to append. A store applies the plan in one atomic step.
#[derive(Debug, PartialEq)]
pub struct CommitPlan {
    /// Rows to delete, or to move to the history if the store keeps evicted messages.
    pub evicted: EvictedRows,
    /// Rows to append: number and record.
    pub rows: Vec<(u64, String)>,
    /// Version after the commit, for the head.
    pub version: u64,
}

/// The rows that a commit removes from memory.
#[derive(Debug, PartialEq, Eq)]
pub enum EvictedRows {
    /// Rows at these positions, counted from the oldest. Positions past the end are ignored.
    Positions(Range<usize>),
    /// Rows with these numbers.
    Numbers(Vec<u64>),
}

impl CommitPlan {
    /// Plans a change of a conversation at `version` without reading its rows.
    ///
    /// Returns `None` for a replacement, which needs the rows: see
    /// [`for_replacement`](Self::for_replacement).
    ///
    /// # Errors
    ///
    /// Fails if a message cannot be encoded, or if the version exceeds its limit of 2^53.
    pub fn for_advance(id: &MemoryId, version: u64, change: &Change) -> Result<Option<Self>> {
        let Some(evicted) = change.evicted() else { return Ok(None) };
        let appended = change.appended().collect::<Vec<_>>();
        let plan = Self::new(id, version, EvictedRows::Positions(evicted), &appended)?;
        change.keep_record_bytes(plan.rows.iter().map(|(_, record)| record.len()).sum());
        Ok(Some(plan))
    }

    /// Plans a replacement of the rows in memory, in the order of their numbers. Messages that stay are not
    /// written again.
    ///
    /// # Errors
    ///
    /// Returns an [`UnreadableRecord`] if the rows are damaged. A store must not replace them, so that they
    /// can be exported and repaired.
    pub fn for_replacement<D: AsRef<[u8]>>(
        id: &MemoryId,
        head: Option<ConversationHead>,
        rows: &[(u64, D)],
        change: &Change,
    ) -> Result<Self> {
        let stored = messages(id, head, rows)?;
        let new: Vec<_> = change.appended().collect();
        let Difference { evicted, kept } =
            Difference::between(&stored.iter().collect::<Vec<_>>(), &new);
        let evicted = evicted.iter().filter_map(|at| rows.get(*at)).map(|(number, _)| *number);
        let version = head.map_or(0, |head| head.version);
        Self::new(
            id,
            version,
            EvictedRows::Numbers(evicted.collect()),
            new.get(kept..).unwrap_or_default(),
        )
    }

    fn new(
        id: &MemoryId,
        version: u64,
        evicted: EvictedRows,
        appended: &[&ChatMessage],
    ) -> Result<Self> {
        let base = if version == 0 { 1 + random() % MAX_FIRST_VERSION } else { version };
        let after = base.saturating_add(appended.len().max(1) as u64);
        if after >= MAX_VERSION {
            let message = format!("the conversation `{id}` has the invalid version {version}");
            return Err(Error::new(ErrorKind::Store, message));
        }
        let rows = (base + 1..).zip(appended);
        let rows = rows.map(|(number, message)| Ok((number, record::encode(id, number, message)?)));
        Ok(Self { evicted, rows: rows.collect::<Result<_>>()?, version: after })
    }
}

/// Decodes the rows in memory of a conversation, in the order of their numbers. A store calls it in `load`.
///
/// # Errors
///
/// Returns an [`UnreadableRecord`] if a row cannot be decoded, if rows are out of order, or if their number
/// differs from the one in the head.
pub fn snapshot<D: AsRef<[u8]>>(
    id: &MemoryId,
    head: Option<ConversationHead>,
    rows: &[(u64, D)],
) -> Result<Snapshot> {
    let messages = messages(id, head, rows)?;
    let snapshot = Snapshot::new(messages, Some(head.map_or(0, |head| head.version)));
    Ok(snapshot.with_numbers(rows.iter().map(|(number, _)| *number).collect::<Numbers>()))
}

fn messages<D: AsRef<[u8]>>(
    id: &MemoryId,
    head: Option<ConversationHead>,
    rows: &[(u64, D)],
) -> Result<Vec<ChatMessage>, UnreadableRecord> {
    check_rows(id, head, rows)?;
    rows.iter().map(|(number, data)| record::decode(id, *number, data.as_ref())).collect()
}

/// Fails if the numbers of all rows in memory do not match the head, or are not ascending.
pub(super) fn check_rows<D>(
    id: &MemoryId,
    head: Option<ConversationHead>,
    rows: &[(u64, D)],
) -> Result<(), UnreadableRecord> {
    let corrupt =
        |reason: &dyn std::fmt::Display| Err(UnreadableRecord::corrupt(id, "the head", reason));
    let ConversationHead { version, messages: expected } =
        head.unwrap_or(ConversationHead { version: 0, messages: 0 });
    if head.is_none() && !rows.is_empty() {
        return corrupt(&"it is missing");
    }
    if expected != rows.len() as u64 {
        return corrupt(&format_args!(
            "it counts {expected} messages, but there are {}",
            rows.len()
        ));
    }
    if rows.last().is_some_and(|(number, _)| *number > version) || version >= MAX_VERSION {
        return corrupt(&format_args!("its version {version} does not match the messages"));
    }
    let mut previous = 0;
    for (number, _) in rows {
        if *number <= previous {
            let row = format_args!("message {number}");
            return Err(UnreadableRecord::corrupt(id, row, "it is out of order"));
        }
        previous = *number;
    }
    Ok(())
}
