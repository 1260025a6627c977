//! Changing entries, each change as a whole.

use super::super::fault::Fault;
use super::filter::{Kind, Statement, stored};
use super::sql::Sql;
use super::wanted::Watch;
use super::{schema, search};
use ai_services_core::embedding::{EmbeddingEntry, Filter, check_dimensions};
use ai_services_core::store_kit::embeddings::Entries;
use ai_services_core::store_kit::failpoint::failpoint;
use rusqlite::{CachedStatement, Connection, OptionalExtension};

/// After how many entries it is looked whether the caller still waits.
const LOOK: usize = 64;

pub(super) fn replace(
    connection: &Connection,
    sql: &Sql,
    removed: Option<&Filter>,
    added: &Entries,
    watch: &Watch,
) -> Result<(), Fault> {
    if let Some(filter) = removed {
        remove_accepted(connection, sql, filter, watch)?;
        failpoint!("sqlite.embedding.removed");
    }
    let Some(dimensions) = added.dimensions else { return Ok(()) };
    if let Some(known) = schema::dimensions(connection, sql)? {
        check_dimensions(dimensions, known)?;
    }
    let mut writer = Writer::new(connection, sql)?;
    for (count, entry) in added.entries.iter().enumerate() {
        if count.is_multiple_of(LOOK) {
            watch.check()?;
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
    watch: &Watch,
) -> Result<(), Fault> {
    let mut writer = Writer::new(connection, sql)?;
    for (count, id) in ids.iter().enumerate() {
        if count.is_multiple_of(LOOK) {
            watch.check()?;
        }
        writer.remove(id)?;
    }
    Ok(())
}

pub(super) fn remove_accepted(
    connection: &Connection,
    sql: &Sql,
    filter: &Filter,
    watch: &Watch,
) -> Result<(), Fault> {
    let mut statement = Statement::new(sql.fill("SELECT e.number FROM {t}_entry AS e"));
    statement.accepted(connection, sql, " WHERE ", Some(filter))?;
    let mut numbers: Vec<i64> = Vec::new();
    search::each(connection, &statement, watch, |row| {
        numbers.push(row.get(0)?);
        Ok(())
    })?;
    let mut writer = Writer::new(connection, sql)?;
    for (count, number) in numbers.into_iter().enumerate() {
        if count.is_multiple_of(LOOK) {
            watch.check()?;
        }
        writer.remove_number(number)?;
    }
    Ok(())
}

/// Removes everything.
pub(super) fn clear(connection: &Connection, sql: &Sql) -> Result<(), Fault> {
    for statement in &sql.clear {
        connection.prepare_cached(statement)?.execute([])?;
    }
    Ok(())
}

/// The statements that change one entry.
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
    fn new(connection: &'a Connection, sql: &Sql) -> Result<Self, Fault> {
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

    fn remove(&mut self, id: &str) -> Result<(), Fault> {
        let found = self.find.query_row([id], |row| row.get(0)).optional()?;
        found.map_or(Ok(()), |number| self.remove_number(number))
    }

    fn remove_number(&mut self, number: i64) -> Result<(), Fault> {
        for statement in &mut self.delete {
            statement.execute([number])?;
        }
        Ok(())
    }

    /// Adds an entry whose id is not there.
    fn add(&mut self, entry: &EmbeddingEntry) -> Result<(), Fault> {
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
