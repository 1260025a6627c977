//! Journals of open turns.
//!
//! The position of a journal is a static column, its records are rows of the same partition. Each write is a
//! lightweight transaction that is conditional on the position, so that appends, commits and deletions of a
//! conversation have one order.

use super::CassandraChatMemoryStore;
use super::commit::CONFLICTS;
use super::error_mapping::AttemptFailure;
use super::read::{RESTARTS, changed_repeatedly};
use super::rows::{RawText, bigint, position, token};
use super::session::{ConditionOutcome, ConditionValues, ConditionalBatch};
use super::statements::{ANCHOR, JOURNAL, Statements};
use ai_services_core::memory::{
    JournalPosition, LeaseToken, MemoryId, OpenJournal, TurnId, TurnJournal, TurnJournals,
    UnreadableRecord,
};
use ai_services_core::store_kit::commits::Settled;
use ai_services_core::store_kit::failpoint::failpoint;
use ai_services_core::store_kit::journal::{PendingAppend, journal};
use ai_services_core::store_kit::{check_limit, journal_moved, lease_lost, limits, time};
use ai_services_core::{Error, Result};
use async_trait::async_trait;
use scylla::response::PagingState;

/// Records that are to be appended.
struct Append<'a> {
    id: &'a MemoryId,
    lease: Option<i64>,
    pending: PendingAppend,
}

/// A row of the anchor or of a record: kind, number, record, and position of the journal.
type Row = (i8, i64, RawText, Option<String>);

#[async_trait]
impl TurnJournals for CassandraChatMemoryStore {
    async fn journal(&self, id: &MemoryId) -> Result<Option<TurnJournal>> {
        limits::check_id(id)?;
        for _ in 0..RESTARTS {
            let rows = self.journal_rows(id).await?;
            let Some((_, _, _, first)) = rows.first() else { return Ok(None) };
            // Another position: the journal has changed between two pages.
            if rows.iter().all(|(_, _, _, position)| position == first) {
                return decoded(id, position(id, first.as_deref())?, &rows);
            }
        }
        Err(changed_repeatedly(id))
    }

    async fn append(
        &self,
        id: &MemoryId,
        position: JournalPosition,
        records: &[String],
        lease: Option<LeaseToken>,
    ) -> Result<JournalPosition> {
        limits::check_id(id)?;
        let lease = lease.map(|lease| token(lease.get()));
        let append = Append { id, lease, pending: PendingAppend::new(id, position, records) };
        let outcome = self.append_records(&append).await;
        outcome.map_err(|error| append.pending.fail(error))
    }

    async fn discard(&self, id: &MemoryId, position: JournalPosition) -> Result<()> {
        limits::check_id(id)?;
        let Statements { read, write } = self.statements().await?;
        for _ in 0..CONFLICTS {
            let head = self.head(id, &read.latest_head).await?;
            let ConditionValues { version, journal, .. } =
                head.map(|head| head.present).unwrap_or_default();
            if journal != Some(position) {
                break;
            }
            let mut batch = self.client().new_batch();
            batch.add(&write.discard, (id.as_str(), position.to_string(), version));
            batch.add(&write.delete_kind, (id.as_str(), JOURNAL));
            if version.is_none() {
                // Nothing stays of a conversation without a commit.
                batch.add(&write.delete_kind, (id.as_str(), ANCHOR));
            }
            let client = self.client();
            let outcome = client.retry(|| client.batch("discard a journal", &batch)).await?;
            if let ConditionOutcome::Applied = outcome {
                return Ok(());
            }
        }
        Err(journal_moved(id))
    }

    /// Reads the heads of all conversations on all nodes, in pages. Returns journals in the order of Cassandra's
    /// partition tokens.
    async fn open_journals(
        &self,
        after: Option<&MemoryId>,
        limit: usize,
    ) -> Result<Vec<OpenJournal>> {
        let limit = check_limit(limit)?;
        if let Some(after) = after {
            limits::check_id(after)?;
        }
        let (mut found, mut next) = (Vec::new(), Some(PagingState::start()));
        while let Some(state) = next {
            // Few conversations have an open journal, so that small pages would cost many requests.
            let (rows, more) = self.list_page(after, usize::MAX, state).await?;
            for row in rows {
                let id = MemoryId::from(row.id);
                let Some(position) = position(&id, row.journal.as_deref())? else { continue };
                let time = time::from_millis(row.journal_updated.unwrap_or(0));
                found.push(OpenJournal::new(id, position, time));
                if found.len() == limit {
                    return Ok(found);
                }
            }
            next = more;
        }
        Ok(found)
    }
}

impl CassandraChatMemoryStore {
    /// Appends exactly once, with retries.
    async fn append_records(&self, append: &Append<'_>) -> Result<JournalPosition> {
        let Append { id, pending, .. } = append;
        let statements = self.statements().await?;
        if pending.rows().is_empty() {
            let head = self.head(id, &statements.read.latest_head).await?;
            let present = head.map(|head| head.present).unwrap_or_default();
            return append.refusal(present).map_or(Ok(pending.position()), Err);
        }
        let mut batch = self.client().new_batch();
        append.add_to(&mut batch, statements);
        let mut attempts = self.client().attempts();
        loop {
            failpoint!("cassandra.before_append");
            let outcome = match self.client().batch("append to a journal", &batch).await {
                Ok(ConditionOutcome::Applied) => {
                    failpoint!("cassandra.after_append");
                    return Ok(pending.next());
                }
                Ok(ConditionOutcome::Refused(present)) => Ok(Some(present)),
                Err(failure) if !failure.is_transient() => return Err(failure.error),
                Err(failure) => {
                    pending.lose_answer();
                    attempts.record_failure(failure).await.map(|()| None)
                }
            };
            // The condition may be false because an earlier attempt was applied.
            if !attempts.is_first() && self.settle_append(append).await? == Settled::Applied {
                return Ok(pending.next());
            }
            if let Some(present) = outcome? {
                return Err(append.refusal(present).unwrap_or_else(|| journal_moved(id)));
            }
        }
    }

    /// Decides whether an append was applied whose answer was lost.
    ///
    /// A serial read completes unfinished appends and sees them.
    async fn settle_append(&self, append: &Append<'_>) -> Result<Settled> {
        let Append { id, pending, .. } = append;
        let action = "read the newest record of a journal";
        let statement = &self.statements().await?.read.newest_record;
        let start = PagingState::start();
        let (rows, _) = self.client().page(action, statement, &(id.as_str(),), start).await?;
        let row = rows.maybe_first_row::<(Option<String>, RawText)>();
        let row = row.map_err(|error| AttemptFailure::answer(action, error).error)?;
        let (text, record) = row.unwrap_or_default();
        let position = position(id, text.as_deref())?;
        pending.settle(position.map(|position| (position, record.as_ref())))
    }

    /// Reads the anchor and the records.
    async fn journal_rows(&self, id: &MemoryId) -> Result<Vec<Row>> {
        let action = "read a journal";
        let statement = &self.statements().await?.read.journal;
        let (mut found, mut next) = (Vec::new(), Some(PagingState::start()));
        while let Some(state) = next {
            let page = self.client().page(action, statement, &(id.as_str(),), state).await?;
            let rows = page.0.rows::<Row>();
            for row in rows.map_err(|error| AttemptFailure::answer(action, error).error)? {
                found.push(row.map_err(|error| AttemptFailure::answer(action, error).error)?);
            }
            next = page.1;
        }
        Ok(found)
    }
}

impl<'a> Append<'a> {
    /// Returns the position that the journal must have; `None` if none may be open.
    fn expected(&self) -> Option<JournalPosition> {
        Some(self.pending.position()).filter(|position| position.length > 0)
    }

    /// Adds the condition, the new position and the records to a batch.
    fn add_to(&'a self, batch: &mut ConditionalBatch<'a>, statements: &Statements) {
        let (id, write, now) = (self.id.as_str(), &statements.write, time::now());
        let expected = self.expected().map(|position| position.to_string());
        let next = self.pending.next().to_string();
        match self.lease {
            None => batch.add(&write.append, (next, now, id, expected)),
            Some(lease) => {
                batch.add(&write.append_under_lease, (next, now, id, expected, lease));
            }
        }
        if self.pending.position().length == 0 {
            batch.add(&write.open, (id,));
        }
        for (number, record) in self.pending.rows() {
            batch.add(&write.insert, (id, JOURNAL, bigint(*number), record.as_str()));
        }
    }

    /// Returns the reason to refuse an append to a journal with these values; `None` if there is none.
    fn refusal(&self, present: ConditionValues) -> Option<Error> {
        if present.journal != self.expected() {
            return Some(journal_moved(self.id));
        }
        let is_lost = self.lease.is_some() && present.lease != self.lease;
        is_lost.then(|| lease_lost(self.id))
    }
}

/// Decodes the records of the journal at this position.
fn decoded(
    id: &MemoryId,
    position: Option<JournalPosition>,
    rows: &[Row],
) -> Result<Option<TurnJournal>> {
    let records = rows.iter().filter(|(kind, ..)| *kind == JOURNAL);
    let turn = position.map_or(TurnId::from_u128(0), |position| position.turn);
    // A negative number is out of order.
    let records: Vec<(TurnId, u64, &RawText)> = records
        .map(|(_, number, record, _)| (turn, u64::try_from(*number).unwrap_or(0), record))
        .collect();
    let length = position.map_or(0, |position| position.length);
    if records.len() as u64 != length {
        let reason = format!("it counts {length} records, but there are {}", records.len());
        return Err(UnreadableRecord::corrupt(id, "the journal", reason).into());
    }
    Ok(journal(id, &records)?)
}
