//! Journals of open turns: one row for each record.

use super::SqliteChatMemoryStore;
use super::error_mapping::{Operation, TaskFailure};
use super::head::{HeadRow, signed};
use ai_services_core::memory::{
    JournalPosition, LeaseToken, MemoryId, OpenJournal, TurnId, TurnJournal, TurnJournals,
};
use ai_services_core::store_kit::commits::Settled;
use ai_services_core::store_kit::failpoint::failpoint;
use ai_services_core::store_kit::journal::{self, PendingAppend};
use ai_services_core::store_kit::{check_limit, journal_moved, lease_lost, limits, time};
use ai_services_core::{Error, Result};
use async_trait::async_trait;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row};
use std::sync::Arc;

#[async_trait]
impl TurnJournals for SqliteChatMemoryStore {
    async fn journal(&self, id: &MemoryId) -> Result<Option<TurnJournal>> {
        limits::check_id(id)?;
        let owned = id.clone();
        self.read("read the journal of", Some(id), move |connection| read(connection, &owned)).await
    }

    async fn append(
        &self,
        id: &MemoryId,
        position: JournalPosition,
        records: &[String],
        lease: Option<LeaseToken>,
    ) -> Result<JournalPosition> {
        limits::check_id(id)?;
        let pending = PendingAppend::new(id, position, records);
        let append = Arc::new(Append { id: id.clone(), lease, pending });
        let shared = Arc::clone(&append);
        let outcome = self.0.database.write(move |connection| shared.run(connection)).await;
        outcome.map_err(|failure| append.explain(failure))?;
        Ok(append.pending.next())
    }

    async fn discard(&self, id: &MemoryId, position: JournalPosition) -> Result<()> {
        limits::check_id(id)?;
        let owned = id.clone();
        let work = move |connection: &_| close(connection, &owned, position);
        self.write("discard the journal of", Some(id), work).await
    }

    /// Returns journals sorted by id.
    async fn open_journals(
        &self,
        after: Option<&MemoryId>,
        limit: usize,
    ) -> Result<Vec<OpenJournal>> {
        let limit = check_limit(limit)?;
        let after = after.map_or("", MemoryId::as_str).to_owned();
        self.read("list the journals of", None, move |connection| list(connection, &after, limit))
            .await
    }
}

/// An append to the journal of a conversation.
struct Append {
    id: MemoryId,
    lease: Option<LeaseToken>,
    pending: PendingAppend,
}

impl Append {
    /// Inserts the rows. Idempotent: inserts them once, however often it is called.
    fn run(&self, connection: &Connection) -> Result<(), TaskFailure> {
        let newest = newest(connection, &self.id)?;
        let current = newest.as_ref().map(|(position, record)| (*position, &record[..]));
        if self.pending.settle(current)? == Settled::Applied {
            return Ok(());
        }
        if let Some(token) = self.lease {
            let head = HeadRow::read(connection, &self.id)?.unwrap_or_default();
            if !head.is_leased_to(token) {
                return Err(lease_lost(&self.id).into());
            }
        }
        failpoint!("sqlite.before_journal_append");
        let mut insert = connection.prepare_cached(
            "INSERT INTO journal (id, number, turn, record, appended) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?;
        let (id, now) = (self.id.as_str(), time::now());
        let turn = self.pending.position().turn.to_string();
        for (number, record) in self.pending.rows() {
            insert.execute((id, signed(*number), &turn, record, now))?;
        }
        failpoint!("sqlite.after_journal_append");
        Ok(())
    }

    /// Returns the error for the caller.
    fn explain(&self, failure: TaskFailure) -> Error {
        if failure.may_be_applied() {
            self.pending.lose_answer();
        }
        let operation = Operation { verb: "append to the journal of", id: Some(&self.id) };
        self.pending.fail(failure.into_error(operation))
    }
}

/// Returns the position of the open journal. Damaged rows are not an error.
pub(super) fn position(
    connection: &Connection,
    id: &MemoryId,
) -> Result<Option<JournalPosition>, TaskFailure> {
    let mut statement = connection.prepare_cached(
        "SELECT number, turn FROM journal WHERE id = ?1 ORDER BY number DESC LIMIT 1",
    )?;
    Ok(statement.query_row([id.as_str()], position_of).optional()?)
}

/// Deletes the journal if it has this position.
pub(super) fn close(
    connection: &Connection,
    id: &MemoryId,
    closed: JournalPosition,
) -> Result<(), TaskFailure> {
    if position(connection, id)? != Some(closed) {
        return Err(journal_moved(id).into());
    }
    delete(connection, id.as_str())
}

/// Deletes the journal of a conversation, if there is one.
pub(super) fn delete(connection: &Connection, id: &str) -> Result<(), TaskFailure> {
    connection.prepare_cached("DELETE FROM journal WHERE id = ?1")?.execute([id])?;
    Ok(())
}

/// Returns the position of the open journal, and the newest row.
fn newest(
    connection: &Connection,
    id: &MemoryId,
) -> Result<Option<(JournalPosition, Vec<u8>)>, TaskFailure> {
    let mut statement = connection.prepare_cached(
        "SELECT number, turn, record FROM journal WHERE id = ?1 ORDER BY number DESC LIMIT 1",
    )?;
    let newest = |row: &Row<'_>| Ok((position_of(row)?, text(row.get_ref(2)?).to_vec()));
    Ok(statement.query_row([id.as_str()], newest).optional()?)
}

fn read(connection: &Connection, id: &MemoryId) -> Result<Option<TurnJournal>, TaskFailure> {
    let mut statement = connection
        .prepare_cached("SELECT number, turn, record FROM journal WHERE id = ?1 ORDER BY number")?;
    let rows = statement.query_map([id.as_str()], |row| {
        let JournalPosition { turn, length } = position_of(row)?;
        Ok((turn, length, text(row.get_ref(2)?).to_vec()))
    })?;
    Ok(journal::journal(id, &rows.collect::<rusqlite::Result<Vec<_>>>()?)?)
}

fn list(
    connection: &Connection,
    after: &str,
    limit: usize,
) -> Result<Vec<OpenJournal>, TaskFailure> {
    let mut statement = connection.prepare_cached(
        "SELECT number, turn, id, appended FROM journal
         WHERE id = (SELECT min(id) FROM journal WHERE id > ?1) ORDER BY number DESC LIMIT 1",
    )?;
    let (mut after, mut open) = (after.to_owned(), Vec::new());
    while open.len() < limit {
        let next = statement.query_row([&after], |row| {
            let (id, last_updated): (String, _) = (row.get(2)?, row.get(3)?);
            let last_updated = time::from_millis(last_updated);
            Ok(OpenJournal::new(id.into(), position_of(row)?, last_updated))
        });
        let Some(next) = next.optional()? else { break };
        next.id.as_str().clone_into(&mut after);
        open.push(next);
    }
    Ok(open)
}

/// Returns the position behind a row. A damaged number or turn becomes one that no checksum matches, so that
/// reading the journal reports the damage.
fn position_of(row: &Row<'_>) -> rusqlite::Result<JournalPosition> {
    let number: i64 = row.get(0)?;
    let turn = std::str::from_utf8(text(row.get_ref(1)?)).ok().and_then(|turn| turn.parse().ok());
    let turn = turn.unwrap_or(TurnId::from_u128(0));
    Ok(JournalPosition { turn, length: u64::try_from(number).unwrap_or(u64::MAX) })
}

fn text(value: ValueRef<'_>) -> &[u8] {
    match value {
        ValueRef::Text(data) | ValueRef::Blob(data) => data,
        ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::super::Durability;
    use super::super::connection::{Settings, open_in_memory};
    use super::*;
    use std::time::Duration;

    /// If `COMMIT` fails although the transaction is durable, each append of the transaction runs again.
    #[test]
    fn append_that_runs_again_is_applied_once() {
        let busy_timeout = Duration::from_secs(1);
        let settings = Settings { durability: Durability::Full, busy_timeout };
        let connection = open_in_memory(&settings).unwrap();
        let id = MemoryId::from("klaus");
        let start = JournalPosition::start(TurnId::new());
        let pending = PendingAppend::new(&id, start, &["a".to_owned(), "b".to_owned()]);
        let append = Append { id: id.clone(), lease: None, pending };
        for _ in 0..2 {
            append.run(&connection).unwrap();
            assert_eq!(position(&connection, &id).unwrap(), Some(start.advanced(2)));
        }
    }
}
