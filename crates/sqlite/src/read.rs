//! Queries on conversations.

use super::error_mapping::TaskFailure;
use super::head::{HeadRow, check_lost, signed, unsigned};
use super::journal;
use super::slots::{Place, Slots};
use ai_services_core::memory::{
    CommitState, Conversation, HistoryEntry, HistoryPosition, MemoryId, RawRecord, RequestId,
    UnreadableRecord,
};
use ai_services_core::store_kit::cache::{
    KnownConversation, LoadedConversation, StoredConversation, StoredRows,
};
use ai_services_core::store_kit::{record, time};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row};
use std::iter::once;
use std::ops::Range;

/// Selects a page of a history, in one direction. Evicted messages are read in order, and only as far as needed.
/// The messages in memory are in the order of their slots, and are sorted.
macro_rules! history_where {
    ($condition:literal, $direction:literal) => {
        concat!(
            "SELECT number, record, 1 FROM history WHERE id = ?1 AND number ",
            $condition,
            " UNION ALL SELECT number, record, 0 FROM conversation
                  WHERE id = ?1 AND slot > 0 AND number ",
            $condition,
            " ORDER BY number ",
            $direction,
            " LIMIT ?3"
        )
    };
}

/// Reads a conversation, as far as it is not known, and the position of its open journal. The transaction of the
/// caller makes the reads consistent.
pub(super) fn load(
    connection: &Connection,
    id: &MemoryId,
    known: Option<&KnownConversation>,
) -> Result<LoadedConversation, TaskFailure> {
    let head = HeadRow::read(connection, id)?;
    if head.is_none() {
        check_lost(connection, id)?;
    }
    let since = known.and_then(KnownConversation::first_row).zip(head.as_ref());
    let since = since.and_then(|(first, head)| Some((first, head.known_slots()?)));
    let rows = match since {
        Some((first, slots)) => StoredRows::Since {
            oldest: oldest(connection, id, &slots)?,
            rows: rows_since(connection, id, &slots, first)?,
        },
        None => StoredRows::All(rows(connection, id)?),
    };
    let commits = head.as_ref().map(|head| head.commits.clone()).unwrap_or_default();
    let stored = StoredConversation { head: head.as_ref().map(Into::into), commits, rows };
    Ok(stored.decode(id, known)?.with_journal(journal::position(connection, id)?))
}

/// Returns whether the commit of a request was applied.
pub(super) fn commit_state(
    connection: &Connection,
    id: &MemoryId,
    request: &RequestId,
) -> Result<CommitState, TaskFailure> {
    let head = HeadRow::read(connection, id)?.unwrap_or_default();
    Ok(head.commits.state_of(request))
}

/// Returns the numbers of the two oldest rows in memory.
fn oldest(connection: &Connection, id: &MemoryId, slots: &Slots) -> Result<Vec<u64>, TaskFailure> {
    // SQLite would parse a statement with `slot IN (?2, ?3)` again for each execution.
    let mut statement =
        connection.prepare_cached("SELECT number FROM conversation WHERE id = ?1 AND slot = ?2")?;
    let mut found = Vec::with_capacity(2);
    for Place { slot, .. } in slots.oldest() {
        let number = statement.query_row((id.as_str(), signed(slot)), |row| row.get(0));
        if let Some(number) = number.optional()? {
            found.push(unsigned(id, &format_args!("message {number}"), number)?);
        }
    }
    Ok(found)
}

/// Returns the rows in memory from number `first` on, oldest first.
fn rows_since(
    connection: &Connection,
    id: &MemoryId,
    slots: &Slots,
    first: u64,
) -> Result<Vec<(u64, Vec<u8>)>, TaskFailure> {
    rows_in(connection, id, slots.since(first))
}

/// Returns all rows in memory, oldest first.
pub(super) fn rows(
    connection: &Connection,
    id: &MemoryId,
) -> Result<Vec<(u64, Vec<u8>)>, TaskFailure> {
    rows_in(connection, id, once(1..i64::MAX as u64 + 1))
}

/// Returns the rows in these slots, oldest first.
fn rows_in(
    connection: &Connection,
    id: &MemoryId,
    slots: impl Iterator<Item = Range<u64>>,
) -> Result<Vec<(u64, Vec<u8>)>, TaskFailure> {
    let mut statement = connection.prepare_cached(
        "SELECT number, record FROM conversation WHERE id = ?1 AND slot BETWEEN ?2 AND ?3",
    )?;
    let mut found = Vec::new();
    for Range { start, end } in slots {
        let mut rows = statement.query((id.as_str(), signed(start), signed(end - 1)))?;
        while let Some(row) = rows.next()? {
            found.push(numbered(id, row)?);
        }
    }
    found.sort_by_key(|(number, _)| *number);
    Ok(found)
}

/// Returns the slots of all rows in memory.
pub(super) fn slots(
    connection: &Connection,
    id: &MemoryId,
    head: &HeadRow,
) -> Result<Slots, TaskFailure> {
    if let Some(slots) = head.known_slots() {
        return Ok(slots);
    }
    let mut statement = connection.prepare_cached(
        "SELECT number, slot FROM conversation WHERE id = ?1 AND slot > 0 ORDER BY number",
    )?;
    let mut rows = statement.query([id.as_str()])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let number = unsigned(id, &"a message", row.get(0)?)?;
        found.push(Place { number, slot: unsigned(id, &"a message", row.get(1)?)? });
    }
    let slots = Slots::collect(found).filter(|slots| head.matches(slots));
    let reason = "it does not match the messages";
    Ok(slots.ok_or_else(|| UnreadableRecord::corrupt(id, "the head", reason))?)
}

/// Returns the conversations that have messages or history, in the order of their ids.
pub(super) fn conversations(
    connection: &Connection,
    after: Option<&MemoryId>,
    limit: usize,
) -> Result<Vec<Conversation>, TaskFailure> {
    let (mut ids, mut found) = (Ids::after(after.map_or("", MemoryId::as_str)), Vec::new());
    while found.len() < limit
        && let Some(id) = ids.next(connection)?
    {
        found.extend(conversation(connection, &id)?);
    }
    Ok(found)
}

/// Returns the conversation, if it has messages or history.
pub(super) fn conversation(
    connection: &Connection,
    id: &MemoryId,
) -> Result<Option<Conversation>, TaskFailure> {
    let mut statement = connection.prepare_cached(
        "SELECT messages, last_updated FROM conversation WHERE id = ?1 AND slot = 0
             AND (messages > 0 OR EXISTS (SELECT 1 FROM history WHERE history.id = ?1))",
    )?;
    let found = statement.query_row([id.as_str()], |row| Ok((row.get(0)?, row.get(1)?)));
    let Some((messages, last_updated)) = found.optional()? else { return Ok(None) };
    let messages = unsigned(id, &"the head", messages)?;
    Ok(Some(Conversation::new(id.clone(), messages, time::from_millis(last_updated))))
}

/// The ids of all conversations and journals, in order. Each one is a search of its own, which skips the messages.
pub(super) struct Ids(MemoryId);

impl Ids {
    /// No id is empty: the ids after an empty one are all ids.
    pub(super) fn after(id: &str) -> Self {
        Self(id.into())
    }

    pub(super) fn next(&mut self, connection: &Connection) -> rusqlite::Result<Option<MemoryId>> {
        let mut statement = connection.prepare_cached(
            "SELECT min(id) FROM (SELECT min(id) AS id FROM conversation WHERE id > ?1
                 UNION ALL SELECT min(id) FROM journal WHERE id > ?1)",
        )?;
        let next: Option<String> = statement.query_row([self.0.as_str()], |row| row.get(0))?;
        let next = next.map(MemoryId::from);
        if let Some(next) = &next {
            self.0.clone_from(next);
        }
        Ok(next)
    }
}

pub(super) fn history(
    connection: &Connection,
    id: &MemoryId,
    position: HistoryPosition,
    limit: usize,
) -> Result<Vec<HistoryEntry>, TaskFailure> {
    if HeadRow::read(connection, id)?.is_none() {
        check_lost(connection, id)?;
    }
    let (statement, bound) = match position {
        HistoryPosition::Oldest => (history_where!("> ?2", "ASC"), 0),
        HistoryPosition::After(after) => (history_where!("> ?2", "ASC"), signed(after)),
        HistoryPosition::Newest => (history_where!("< ?2", "DESC"), i64::MAX),
        HistoryPosition::Before(before) => (history_where!("< ?2", "DESC"), signed(before)),
    };
    let mut statement = connection.prepare_cached(statement)?;
    let mut rows = statement.query((id.as_str(), bound, signed(limit as u64)))?;
    let mut entries: Vec<HistoryEntry> = Vec::new();
    while let Some(row) = rows.next()? {
        let (number, data) = numbered(id, row)?;
        if entries.last().is_some_and(|last| last.position == number) {
            let row = format_args!("message {number}");
            return Err(UnreadableRecord::corrupt(id, row, "it is stored twice").into());
        }
        let message = record::decode(id, number, &data)?;
        entries.push(HistoryEntry::new(number, message, row.get(2)?));
    }
    if matches!(position, HistoryPosition::Newest | HistoryPosition::Before(_)) {
        entries.reverse();
    }
    Ok(entries)
}

pub(super) fn export_raw(
    connection: &Connection,
    id: &MemoryId,
) -> Result<Vec<RawRecord>, TaskFailure> {
    let mut exported = Vec::new();
    let mut heads = connection.prepare_cached(
        "SELECT id, version, messages, last_updated, commits, slots,
             lease_token, lease_since, lease_until
         FROM conversation WHERE id = ?1 AND slot = 0",
    )?;
    let names = (0..heads.column_count()).map(|column| Ok(heads.column_name(column)?.to_owned()));
    let names: Vec<String> = names.collect::<rusqlite::Result<_>>()?;
    let mut rows = heads.query([id.as_str()])?;
    while let Some(row) = rows.next()? {
        for (column, name) in names.iter().enumerate() {
            let row_name = format!("the head, {name}");
            exported.push(RawRecord::new(row_name, raw(row.get_ref(column)?)));
        }
    }
    for (table, statement) in [
        ("evicted message", "SELECT number, record FROM history WHERE id = ?1 ORDER BY number"),
        (
            "message",
            "SELECT number, record FROM conversation WHERE id = ?1 AND slot > 0 ORDER BY number",
        ),
        (
            "journal record",
            "SELECT turn || ':' || number, record FROM journal WHERE id = ?1 ORDER BY number",
        ),
    ] {
        let mut statement = connection.prepare_cached(statement)?;
        let mut rows = statement.query([id.as_str()])?;
        while let Some(row) = rows.next()? {
            let number = raw(row.get_ref(0)?);
            let row_name = format!("{table} {}", String::from_utf8_lossy(&number));
            exported.push(RawRecord::new(row_name, raw(row.get_ref(1)?)));
        }
    }
    Ok(exported)
}

/// Returns the number and the record of a row. The record may be invalid UTF-8, which decoding detects.
fn numbered(id: &MemoryId, row: &Row<'_>) -> Result<(u64, Vec<u8>), TaskFailure> {
    let number = row.get(0)?;
    let number = unsigned(id, &format_args!("message {number}"), number)?;
    match row.get_ref(1)? {
        ValueRef::Text(data) | ValueRef::Blob(data) => Ok((number, data.to_vec())),
        _ => {
            let row = format_args!("message {number}");
            Err(UnreadableRecord::corrupt(id, row, "it is not text").into())
        }
    }
}

fn raw(value: ValueRef<'_>) -> Vec<u8> {
    match value {
        ValueRef::Text(data) | ValueRef::Blob(data) => data.to_vec(),
        ValueRef::Null => b"NULL".to_vec(),
        ValueRef::Integer(number) => number.to_string().into_bytes(),
        ValueRef::Real(number) => number.to_string().into_bytes(),
    }
}
