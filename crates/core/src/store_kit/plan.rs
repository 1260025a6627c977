//! A change in terms of numbered rows.
//!
//! The version of a conversation is also the number of its newest row: a commit at version `v` that
//! appends `n` messages numbers them `v + 1 … v + n`, and the new version is `v + n`, or `v + 1` if it
//! appends nothing. So whoever knows the version can write the rows, and their checksums, without
//! asking. An unknown conversation has version 0; its first commit starts at a random number, so
//! that no version is seen twice if a conversation is deleted and begun again.

use super::record;
use crate::error::{Error, ErrorKind, Result};
use crate::memory::{Change, Difference, MemoryId, Snapshot, UnreadableRecord, random};
use crate::message::ChatMessage;
use std::ops::Range;

/// Versions stay below: exact in a double, which is what scripts of databases count in.
const MAX_VERSION: u64 = 1 << 53;

/// First versions stay below: enough for chance never to meet, and far from the end.
const MAX_FIRST_VERSION: u64 = 1 << 47;

/// The head of a stored conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    pub version: u64,
    /// How many messages are in memory.
    pub messages: u64,
}

/// What a store has to write.
#[derive(Debug, PartialEq)]
pub struct Plan {
    pub evict: Evict,
    /// The rows to append, with their numbers.
    pub rows: Vec<(u64, String)>,
    /// The version after the change.
    pub version: u64,
}

/// Which rows leave the memory.
#[derive(Debug, PartialEq, Eq)]
pub enum Evict {
    /// Those at these positions, counted from the oldest. Positions past the end are ignored.
    Positions(Range<usize>),
    /// Those with these numbers.
    Numbers(Vec<u64>),
}

impl Plan {
    /// The plan for a change of a conversation at `version`, made without reading its rows; `None`
    /// for a [replacement](Self::replacing), which needs them.
    pub fn advancing(id: &MemoryId, version: u64, change: &Change) -> Result<Option<Self>> {
        let Some(evicted) = change.evicted() else { return Ok(None) };
        let appended = change.appended().collect::<Vec<_>>();
        Self::new(id, version, Evict::Positions(evicted), &appended).map(Some)
    }

    /// The plan for a replacement of these rows: what stays is not written again.
    ///
    /// # Errors
    ///
    /// For rows that cannot be read. They are not replaced, so that they can be rescued.
    pub fn replacing<D: AsRef<[u8]>>(
        id: &MemoryId,
        head: Option<Head>,
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
            Evict::Numbers(evicted.collect()),
            new.get(kept..).unwrap_or_default(),
        )
    }

    fn new(id: &MemoryId, version: u64, evict: Evict, appended: &[&ChatMessage]) -> Result<Self> {
        let base = if version == 0 { 1 + random() % MAX_FIRST_VERSION } else { version };
        let after = base.saturating_add(appended.len().max(1) as u64);
        if after >= MAX_VERSION {
            let message = format!("the conversation `{id}` has the impossible version {version}");
            return Err(Error::new(ErrorKind::Store, message));
        }
        let rows = (base + 1..).zip(appended);
        let rows = rows.map(|(number, message)| Ok((number, record::encode(id, number, message)?)));
        Ok(Self { evict, rows: rows.collect::<Result<_>>()?, version: after })
    }
}

/// The conversation that consists of these rows, in the order of their numbers.
///
/// # Errors
///
/// For rows that cannot be read, that are out of order, too many or too few.
pub fn snapshot<D: AsRef<[u8]>>(
    id: &MemoryId,
    head: Option<Head>,
    rows: &[(u64, D)],
) -> Result<Snapshot> {
    let messages = messages(id, head, rows)?;
    let snapshot = Snapshot::new(messages, Some(head.map_or(0, |head| head.version)));
    Ok(snapshot.with_numbers(rows.iter().map(|(number, _)| *number)))
}

fn messages<D: AsRef<[u8]>>(
    id: &MemoryId,
    head: Option<Head>,
    rows: &[(u64, D)],
) -> Result<Vec<ChatMessage>, UnreadableRecord> {
    let corrupt =
        |reason: &dyn std::fmt::Display| Err(UnreadableRecord::corrupt(id, "the head", reason));
    let Head { version, messages: promised } = head.unwrap_or(Head { version: 0, messages: 0 });
    if head.is_none() && !rows.is_empty() {
        return corrupt(&"it is missing");
    }
    if promised != rows.len() as u64 {
        return corrupt(&format_args!(
            "it promises {promised} messages, but there are {}",
            rows.len()
        ));
    }
    if rows.last().is_some_and(|(number, _)| *number > version) || version >= MAX_VERSION {
        return corrupt(&format_args!("its version {version} does not fit the messages"));
    }
    let mut previous = 0;
    rows.iter()
        .map(|(number, data)| {
            if *number <= previous {
                let row = format_args!("message {number}");
                return Err(UnreadableRecord::corrupt(id, row, "it is out of order"));
            }
            previous = *number;
            record::decode(id, *number, data.as_ref())
        })
        .collect()
}
