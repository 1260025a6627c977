//! Changes of entries. Each change is atomic.

use super::super::error_mapping::TaskFailure;
use super::cancellation::Cancellation;
use super::filter::{Kind, Statement, stored};
use super::sql::Sql;
use super::{schema, search};
use ai_services_core::embedding::{EmbeddingEntry, Filter, Replace, check_dimensions};
use ai_services_core::store_kit::embeddings::CheckedEntries;
use ai_services_core::store_kit::failpoint::failpoint;
use rusqlite::{CachedStatement, Connection, OptionalExtension};

/// Number of entries between two checks for cancellation.
const CHECK_INTERVAL: usize = 64;

pub(super) fn replace(
    connection: &Connection,
    sql: &Sql,
    removed: Replace<'_>,
    added: &CheckedEntries,
    cancellation: &Cancellation,
) -> Result<(), TaskFailure> {
    if let Replace::Matching(filter) = removed {
        remove_matching(connection, sql, filter, cancellation)?;
        failpoint!("sqlite.embedding.removed");
    }
    let Some(dimensions) = added.dimensions else { return Ok(()) };
    if let Some(known) = schema::dimensions(connection, sql)? {
        check_dimensions(dimensions, known)?;
    }
    let mut writer = Writer::new(connection, sql)?;
    for (count, entry) in added.entries.iter().enumerate() {
        if count.is_multiple_of(CHECK_INTERVAL) {
            cancellation.check()?;
        }
        writer.remove(&entry.id)?;
        writer.add(entry)?;
        failpoint!("sqlite.embedding.added");
    }
    Ok(())
}

pub(super) fn remove(
    connection: &Connection,
    sql: &Sql,
    ids: &[Box<str>],
    cancellation: &Cancellation,
) -> Result<(), TaskFailure> {
    let mut writer = Writer::new(connection, sql)?;
    for (count, id) in ids.iter().enumerate() {
        if count.is_multiple_of(CHECK_INTERVAL) {
            cancellation.check()?;
        }
        writer.remove(id)?;
    }
    Ok(())
}

pub(super) fn remove_matching(
    connection: &Connection,
    sql: &Sql,
    filter: &Filter,
    cancellation: &Cancellation,
) -> Result<(), TaskFailure> {
    let mut statement = Statement::new(sql.fill("SELECT e.number FROM {t}_entry AS e"));
    statement.push_filter(connection, sql, " WHERE ", Some(filter))?;
    let mut numbers: Vec<i64> = Vec::new();
    search::for_each_row(connection, &statement, cancellation, |row| {
        numbers.push(row.get(0)?);
        Ok(())
    })?;
    let mut writer = Writer::new(connection, sql)?;
    for (count, number) in numbers.into_iter().enumerate() {
        if count.is_multiple_of(CHECK_INTERVAL) {
            cancellation.check()?;
        }
        writer.remove_number(number)?;
    }
    Ok(())
}

/// Removes all entries.
pub(super) fn clear(connection: &Connection, sql: &Sql) -> Result<(), TaskFailure> {
    for statement in &sql.clear {
        connection.prepare_cached(statement)?.execute([])?;
    }
    Ok(())
}

/// The prepared statements that change one entry.
struct Writer<'a> {
    connection: &'a Connection,
    find: CachedStatement<'a>,
    delete: [CachedStatement<'a>; 4],
    entry: CachedStatement<'a>,
    segment: CachedStatement<'a>,
    metadata: CachedStatement<'a>,
    words: CachedStatement<'a>,
}

impl<'a> Writer<'a> {
    fn new(connection: &'a Connection, sql: &Sql) -> Result<Self, TaskFailure> {
        let [words, metadata, segment, entry] = &sql.delete;
        let prepare = |statement: &String| connection.prepare_cached(statement);
        Ok(Self {
            connection,
            find: prepare(&sql.find)?,
            delete: [prepare(words)?, prepare(metadata)?, prepare(segment)?, prepare(entry)?],
            entry: prepare(&sql.insert_entry)?,
            segment: prepare(&sql.insert_segment)?,
            metadata: prepare(&sql.insert_metadata)?,
            words: prepare(&sql.insert_words)?,
        })
    }

    fn remove(&mut self, id: &str) -> Result<(), TaskFailure> {
        let found = self.find.query_row([id], |row| row.get(0)).optional()?;
        found.map_or(Ok(()), |number| self.remove_number(number))
    }

    fn remove_number(&mut self, number: i64) -> Result<(), TaskFailure> {
        for statement in &mut self.delete {
            statement.execute([number])?;
        }
        Ok(())
    }

    /// Adds an entry whose id does not exist.
    fn add(&mut self, entry: &EmbeddingEntry) -> Result<(), TaskFailure> {
        let vector: Vec<u8> = entry.vector.iter().flat_map(|number| number.to_le_bytes()).collect();
        self.entry.execute((&*entry.id, vector))?;
        let number = self.connection.last_insert_rowid();
        let text = entry.segment.text();
        self.segment.execute((number, text))?;
        for (position, (key, value)) in entry.segment.metadata().iter().enumerate() {
            let kind = Kind::of(value) as u8;
            let position = i64::try_from(position).unwrap_or(i64::MAX);
            self.metadata.execute((number, position, key, kind, stored(value)))?;
        }
        self.words.execute((number, text))?;
        Ok(())
    }
}
