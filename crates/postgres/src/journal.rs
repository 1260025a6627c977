//! Journals of open turns.

use super::PostgresChatMemoryStore;
use super::connection::{Connection, Parameters};
use super::error_mapping::{AttemptFailure, retry};
use super::read::{at_most, listed_id, position, signed};
use super::tokio_postgres::types::ToSql;
use ai_services_core::memory::{
    JournalPosition, LeaseToken, MemoryId, OpenJournal, TurnId, TurnJournal, TurnJournals,
    UnreadableRecord,
};
use ai_services_core::store_kit::commits::Settled;
use ai_services_core::store_kit::failpoint::failpoint;
use ai_services_core::store_kit::journal::{PendingAppend, journal};
use ai_services_core::store_kit::limits::check_id;
use ai_services_core::store_kit::{check_limit, conflict, journal_moved, lease_lost, time};
use ai_services_core::{Error, Result};
use async_trait::async_trait;

/// Records that are to be appended.
struct Append<'a> {
    id: &'a MemoryId,
    lease: Option<i64>,
    pending: PendingAppend,
}

#[async_trait]
impl TurnJournals for PostgresChatMemoryStore {
    async fn journal(&self, id: &MemoryId) -> Result<Option<TurnJournal>> {
        check_id(id)?;
        retry(|_| self.read_journal(id)).await
    }

    async fn append(
        &self,
        id: &MemoryId,
        position: JournalPosition,
        records: &[String],
        lease: Option<LeaseToken>,
    ) -> Result<JournalPosition> {
        check_id(id)?;
        let lease = lease.map(LeaseToken::get).map(u64::cast_signed);
        let pending = PendingAppend::new(id, position, records);
        let append = &Append { id, lease, pending };
        let outcome = retry(|_| self.append_once(append)).await;
        outcome.map_err(|error| append.pending.fail(error))
    }

    async fn discard(&self, id: &MemoryId, position: JournalPosition) -> Result<()> {
        check_id(id)?;
        retry(|_| self.discard_once(id, position)).await
    }

    /// Returns open journals sorted by the SHA-256 of their ids.
    async fn open_journals(
        &self,
        after: Option<&MemoryId>,
        limit: usize,
    ) -> Result<Vec<OpenJournal>> {
        let limit = check_limit(limit)?;
        retry(|_| self.read_open_journals(after, limit)).await
    }
}

impl PostgresChatMemoryStore {
    /// Appends in one round trip.
    async fn append_once(&self, append: &Append<'_>) -> Result<JournalPosition, AttemptFailure> {
        let mut connection = self.connect().await?;
        if append.pending.rows().is_empty() {
            return self.append_refusal(&mut connection, append).await;
        }
        failpoint!("postgres.append.before");
        let written = self.write_records(&mut connection, append).await;
        let written = written.map_err(|failure| {
            if failure.may_be_executed() {
                append.pending.lose_answer();
            }
            if failure.is_duplicate() { orphaned_rows(append.id) } else { failure }
        })?;
        failpoint!("postgres.append.after");
        match written {
            0 => self.append_refusal(&mut connection, append).await,
            _ => Ok(append.pending.next()),
        }
    }

    async fn write_records(
        &self,
        connection: &mut Connection,
        append: &Append<'_>,
    ) -> Result<u64, AttemptFailure> {
        let Append { id, lease, pending } = append;
        let (id, position, now) = (id.as_str().as_bytes(), pending.position(), time::now());
        let numbers: Vec<i64> = pending.rows().iter().map(|(number, _)| signed(*number)).collect();
        let records: Vec<&[u8]> =
            pending.rows().iter().map(|(_, record)| record.as_bytes()).collect();
        let (turn, length) = (position.turn.to_string(), signed(position.length));
        let common: [&(dyn ToSql + Sync); 6] = [&id, lease, &turn, &now, &numbers, &records];
        let sql = &self.0.sql.journals;
        if position.length == 0 {
            return connection.execute(&sql.open, &common).await;
        }
        let length: [&(dyn ToSql + Sync); 1] = [&length];
        connection.execute(&sql.append, &[&common[..], &length[..]].concat()).await
    }

    /// Returns the reason why an append wrote no row, or the new position if an earlier attempt was applied.
    /// An append without records has the position as its only effect.
    async fn append_refusal(
        &self,
        connection: &mut Connection,
        append: &Append<'_>,
    ) -> Result<JournalPosition, AttemptFailure> {
        let Append { id, lease, pending } = append;
        let parameters: Parameters<'_> = &[&id.as_str().as_bytes(), lease];
        let found = connection.query(&self.0.sql.journals.refusal_reason, parameters).await?;
        let Some(row) = found.first() else { return Err(conflict(id).into()) };
        let newest: &[u8] = row.try_get::<_, Option<_>>("record")?.unwrap_or_default();
        let current = position(row)?.map(|position| (position, newest));
        if pending.settle(current)? == Settled::Applied {
            return Ok(pending.next());
        }
        if !row.try_get::<_, bool>("is_leased")? {
            return Err(lease_lost(id).into());
        }
        if pending.rows().is_empty() {
            return Ok(pending.position());
        }
        // Another writer has opened a journal, and closed it in the meantime.
        Err(AttemptFailure::contended(journal_moved(id)))
    }

    async fn discard_once(
        &self,
        id: &MemoryId,
        position: JournalPosition,
    ) -> Result<(), AttemptFailure> {
        let (turn, length) = (position.turn.to_string(), signed(position.length));
        let parameters: Parameters<'_> = &[&id.as_str().as_bytes(), &turn, &length];
        let mut connection = self.connect().await?;
        match connection.execute(&self.0.sql.journals.discard, parameters).await? {
            0 => Err(journal_moved(id).into()),
            _ => Ok(()),
        }
    }

    async fn read_journal(&self, id: &MemoryId) -> Result<Option<TurnJournal>, AttemptFailure> {
        let mut connection = self.connect().await?;
        let sql = &self.0.sql.journals.read;
        let found = connection.query(sql, &[&id.as_str().as_bytes()]).await?;
        let mut head = None;
        let mut rows: Vec<(u64, &[u8])> = Vec::with_capacity(found.len());
        for row in &found {
            match (row.try_get::<_, Option<i64>>("number")?, row.try_get("record")?) {
                (Some(number), Some(record)) => {
                    // A negative number is out of order.
                    rows.push((u64::try_from(number).unwrap_or(0), record));
                }
                _ => head = position(row)?,
            }
        }
        rows.sort_by_key(|(number, _)| *number);
        let length = head.map_or(0, |head| head.length);
        if rows.len() as u64 != length {
            let reason = format!("it counts {length} records, but there are {}", rows.len());
            return Err(Error::from(UnreadableRecord::corrupt(id, "the journal", reason)).into());
        }
        let Some(JournalPosition { turn, .. }) = head else { return Ok(None) };
        let rows: Vec<(TurnId, u64, &[u8])> =
            rows.into_iter().map(|(number, record)| (turn, number, record)).collect();
        Ok(journal(id, &rows).map_err(Error::from)?)
    }

    async fn read_open_journals(
        &self,
        after: Option<&MemoryId>,
        limit: usize,
    ) -> Result<Vec<OpenJournal>, AttemptFailure> {
        let after = after.map(|id| id.as_str().as_bytes());
        let mut connection = self.connect().await?;
        let sql = &self.0.sql.journals.list;
        let found = connection.query(sql, &[&after, &at_most(limit)]).await?;
        let mut open = Vec::with_capacity(found.len());
        for row in &found {
            let id = listed_id(row, "the journal")?;
            let time = time::from_millis(row.try_get("last_updated")?);
            open.extend(position(row)?.map(|position| OpenJournal::new(id, position, time)));
        }
        Ok(open)
    }
}

/// The error of an append whose head is missing or counts too few records.
fn orphaned_rows(id: &MemoryId) -> AttemptFailure {
    let reason = "it has records behind its last one";
    Error::from(UnreadableRecord::corrupt(id, "the journal", reason)).into()
}
