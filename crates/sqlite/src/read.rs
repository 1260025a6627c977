//! Queries on conversations.

use super::error_mapping::TaskFailure;
use super::head::{HeadRow, check_lost, signed, unsigned};
use ai_services_core::memory::{
    CommitState, Conversation, HistoryEntry, HistoryPosition, MemoryId, RawRecord, RequestId,
    UnreadableRecord,
};
use ai_services_core::store_kit::cache::{KnownConversation, StoredConversation, StoredRows};
use ai_services_core::store_kit::{record, time};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row};

/// Selects the conversations that have messages or history.
macro_rules! conversations_where {
    ($condition:literal) => {
        concat!(
            "SELECT id, messages, last_updated FROM conversation WHERE ",
            $condition,
            " AND (messages > 0
                   OR EXISTS (SELECT 1 FROM history WHERE history.id = conversation.id))"
        )
    };
}

/// Selects a page of a history, in one direction. Both tables are read in order, and only as far as needed.
macro_rules! history_where {
    ($condition:literal, $direction:literal) => {
        concat!(
            "SELECT number, record, 1 FROM history WHERE id = ?1 AND number ",
            $condition,
            " UNION ALL SELECT number, record, 0 FROM message WHERE id = ?1 AND number ",
            $condition,
            " ORDER BY number ",
            $direction,
            " LIMIT ?3"
        )
    };
}

/// Reads what a load needs besides the known state. The transaction of the caller makes it consistent.
pub(super) fn stored(
    connection: &Connection,
    id: &MemoryId,
    known: Option<&KnownConversation>,
) -> Result<StoredConversation<Vec<u8>>, TaskFailure> {
    let head = HeadRow::read(connection, id)?;
    if head.is_none() {
        check_lost(connection, id)?;
    }
    let rows = match known.and_then(KnownConversation::first_row) {
        Some(first) => {
            let oldest = oldest(connection, id)?;
            StoredRows::Since { oldest, rows: rows(connection, id, first)? }
        }
        None => StoredRows::All(rows(connection, id, 0)?),
    };
    let commits = head.as_ref().map(|head| head.commits.clone()).unwrap_or_default();
    Ok(StoredConversation { head: head.as_ref().map(Into::into), commits, rows })
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
fn oldest(connection: &Connection, id: &MemoryId) -> Result<Vec<u64>, TaskFailure> {
    let mut statement = connection
        .prepare_cached("SELECT number FROM message WHERE id = ?1 ORDER BY number LIMIT 2")?;
    let mut rows = statement.query([id.as_str()])?;
    let mut found = Vec::with_capacity(2);
    while let Some(row) = rows.next()? {
        let number = row.get(0)?;
        found.push(unsigned(id, &format_args!("message {number}"), number)?);
    }
    Ok(found)
}

/// Returns the rows in memory from number `first` on, oldest first.
pub(super) fn rows(
    connection: &Connection,
    id: &MemoryId,
    first: u64,
) -> Result<Vec<(u64, Vec<u8>)>, TaskFailure> {
    // A damaged number may be negative.
    let first = if first == 0 { i64::MIN } else { signed(first) };
    let mut statement = connection.prepare_cached(
        "SELECT number, record FROM message WHERE id = ?1 AND number >= ?2 ORDER BY number",
    )?;
    let mut rows = statement.query((id.as_str(), first))?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(numbered(id, row)?);
    }
    Ok(found)
}

pub(super) fn conversations(
    connection: &Connection,
    after: Option<&MemoryId>,
    limit: usize,
) -> Result<Vec<Conversation>, TaskFailure> {
    let mut statement = connection
        .prepare_cached(concat!(conversations_where!("id > ?1"), " ORDER BY id LIMIT ?2"))?;
    // No id is empty.
    let after = after.map_or("", MemoryId::as_str);
    let found = statement.query_map((after, signed(limit as u64)), described)?;
    found.map(|found| Ok(found??)).collect()
}

pub(super) fn conversation(
    connection: &Connection,
    id: &MemoryId,
) -> Result<Option<Conversation>, TaskFailure> {
    let mut statement = connection.prepare_cached(conversations_where!("id = ?1"))?;
    let found = statement.query_row([id.as_str()], described).optional()?;
    Ok(found.transpose()?)
}

fn described(row: &Row<'_>) -> rusqlite::Result<Result<Conversation, UnreadableRecord>> {
    let id = MemoryId::from(row.get::<_, String>(0)?);
    let last_updated = time::from_millis(row.get(2)?);
    let messages = unsigned(&id, &"the head", row.get(1)?);
    Ok(messages.map(|messages| Conversation::new(id, messages, last_updated)))
}

/// Returns the ids of conversations that were last changed before `time`, in order.
pub(super) fn unused(
    connection: &Connection,
    time: i64,
    after: &str,
    limit: u32,
) -> Result<Vec<String>, TaskFailure> {
    let mut statement = connection.prepare_cached(
        "SELECT id FROM conversation WHERE id > ?1 AND last_updated < ?2 ORDER BY id LIMIT ?3",
    )?;
    let ids = statement.query_map((after, time, limit), |row| row.get(0))?;
    Ok(ids.collect::<rusqlite::Result<_>>()?)
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
    let mut heads = connection.prepare_cached("SELECT * FROM conversation WHERE id = ?1")?;
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
        ("message", "SELECT number, record FROM message WHERE id = ?1 ORDER BY number"),
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
