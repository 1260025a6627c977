//! Commits: one statement if the version is known, otherwise a transaction.

use super::PostgresChatMemoryStore;
use super::connection::{Connection, Parameters, RawText};
use super::error_mapping::{AttemptFailure, retry};
use super::read::{head, log, numbered, position, signed};
use super::tokio_postgres::types::ToSql;
use ai_services_core::Result;
use ai_services_core::memory::{Change, CommitState, LeaseToken, MemoryId, RequestId};
use ai_services_core::store_kit::commits::{PendingCommit, Settled};
use ai_services_core::store_kit::failpoint::failpoint;
use ai_services_core::store_kit::plan::{CommitPlan, ConversationHead, EvictedRows};
use ai_services_core::store_kit::time;
use ai_services_core::store_kit::{conflict, journal_moved, lease_lost};

/// A change that is to be committed.
struct Commit<'a> {
    id: &'a MemoryId,
    change: &'a Change,
    lease: Option<i64>,
    /// Distinguishes an applied attempt whose answer was lost from the commit of another writer.
    pending: PendingCommit,
}

/// A change as rows of the tables.
struct PlannedCommit {
    /// Version of the conversation before the commit.
    version: u64,
    plan: CommitPlan,
    /// New bounds of the numbers in memory. `None` if they are not known, which leaves the lower ones.
    bounds: Option<[i64; 2]>,
}

/// The outcome of an attempt.
enum CommitOutcome {
    Applied,
    /// No row was written, because head, rows or lease were not as expected.
    Refused,
}

impl PostgresChatMemoryStore {
    pub(super) async fn commit_change(&self, id: &MemoryId, change: &Change) -> Result<()> {
        let lease = change.lease().map(LeaseToken::get).map(u64::cast_signed);
        let commit = &Commit { id, change, lease, pending: PendingCommit::new(id, change) };
        let planned = match change.expected_version() {
            Some(version) => PlannedCommit::for_advance(id, version, change)?,
            None => None,
        };
        let outcome = match &planned {
            Some(planned) => retry(|_| self.commit_at(commit, planned)).await,
            None => retry(|_| self.commit_locked(commit)).await,
        };
        outcome.map_err(|error| commit.pending.fail(error))
    }

    /// Returns whether the commit of a request was applied.
    pub(super) async fn read_commit_state(
        &self,
        id: &MemoryId,
        request: &RequestId,
    ) -> Result<CommitState, AttemptFailure> {
        let mut connection = self.connect().await?;
        let found = connection.query(&self.0.sql.commits, &[&id.as_str().as_bytes()]).await?;
        Ok(log(found.first())?.state_of(request))
    }

    /// Commits in one round trip, at a known version.
    async fn commit_at(
        &self,
        commit: &Commit<'_>,
        planned: &PlannedCommit,
    ) -> Result<(), AttemptFailure> {
        let version = planned.version;
        let mut connection = self.connect().await?;
        failpoint!("postgres.commit.before");
        let outcome = self.write(&mut connection, commit, planned).await;
        let outcome = outcome.inspect_err(|failure| commit.note(failure, version))?;
        failpoint!("postgres.commit.after");
        match outcome {
            CommitOutcome::Applied => Ok(()),
            CommitOutcome::Refused => {
                self.refusal_reason(&mut connection, commit, Some(version)).await
            }
        }
    }

    /// Commits with the head locked, for changes that depend on the current version or rows.
    async fn commit_locked(&self, commit: &Commit<'_>) -> Result<(), AttemptFailure> {
        let Commit { id, change, pending, .. } = commit;
        let mut connection = self.connect().await?;
        connection.begin().await?;
        if change.closed_journal().is_some() {
            // Before the lock of the head, as in all writes.
            let lock = &self.0.sql.journals.lock;
            connection.execute(lock, &[&id.as_str().as_bytes()]).await?;
        }
        let found = connection.query(&self.0.sql.lock, &[&id.as_str().as_bytes()]).await?;
        let head = found.first().map(|row| head(id, row)).transpose()?;
        failpoint!("postgres.transaction.locked");
        let version = head.map_or(0, |head| head.version);
        if pending.settle(version, &log(found.first())?)? == Settled::Applied {
            return connection.roll_back().await;
        }
        if change.expected_version().is_some_and(|expected| expected != version) {
            connection.roll_back().await?;
            return Err(conflict(id).into());
        }
        let planned = match PlannedCommit::for_advance(id, version, change)? {
            Some(planned) => planned,
            None => {
                let found = connection.query(&self.0.sql.rows, &[&id.as_str().as_bytes()]).await?;
                let rows = found
                    .iter()
                    .map(|row| numbered(id, row))
                    .collect::<Result<Vec<(_, RawText<'_>)>, _>>()?;
                PlannedCommit::for_replacement(id, head, &rows, change)?
            }
        };
        match self.write(&mut connection, commit, &planned).await? {
            CommitOutcome::Applied => {
                failpoint!("postgres.transaction.written");
                let done = connection.commit().await;
                done.inspect_err(|failure| commit.note(failure, version))?;
                failpoint!("postgres.transaction.after");
                Ok(())
            }
            CommitOutcome::Refused => {
                connection.roll_back().await?;
                self.refusal_reason(&mut connection, commit, change.expected_version()).await
            }
        }
    }

    async fn write(
        &self,
        connection: &mut Connection,
        commit: &Commit<'_>,
        planned: &PlannedCommit,
    ) -> Result<CommitOutcome, AttemptFailure> {
        let PlannedCommit { version, plan, bounds } = planned;
        let version = *version;
        let id = commit.id.as_str().as_bytes();
        let numbers: Vec<i64> = plan.rows.iter().map(|(number, _)| signed(*number)).collect();
        let records: Vec<&str> = plan.rows.iter().map(|(_, record)| record.as_str()).collect();
        let (after, now) = (signed(plan.version), time::now());
        let entry = commit.pending.entry(version);
        let (entry, lease) = (entry.as_slice(), commit.lease);
        let closed = commit.change.closed_journal();
        let sql = match closed {
            None => &self.0.sql.commit,
            Some(_) => &self.0.sql.closing_commit,
        };
        let closed = closed.map(|closed| (closed.turn.to_string(), signed(closed.length)));
        let closed =
            closed.iter().flat_map(|(turn, length)| [turn as &(dyn ToSql + Sync), length as _]);
        let closed: Vec<_> = closed.collect();
        let written = if version == 0 {
            let values: Parameters<'_> = &[&id, &lease, &after, &now, &entry, &numbers, &records];
            connection.execute(&sql.begin_conversation, &[values, &closed[..]].concat()).await?
        } else {
            let before = signed(version);
            let (oldest, second) =
                bounds.map_or((None, None), |[oldest, second]| (Some(oldest), Some(second)));
            let common: [&(dyn ToSql + Sync); 10] =
                [&id, &lease, &after, &now, &entry, &numbers, &records, &before, &oldest, &second];
            match (&plan.evicted, commit.change.evicted_numbers()) {
                (EvictedRows::Positions(_), Some(gone)) => {
                    // `1..0` is an empty range.
                    let first = gone.first().map_or(1, |first| signed(*first));
                    let last = gone.last().map_or(0, |last| signed(*last));
                    let count = signed(gone.len() as u64);
                    let range: [&(dyn ToSql + Sync); 3] = [&first, &last, &count];
                    let parameters = [&common[..], &range[..], &closed[..]].concat();
                    connection.execute(&sql.advance_numbered, &parameters).await?
                }
                (evict, _) => {
                    let (range, gone) = match evict {
                        EvictedRows::Positions(range) => (range.clone(), Vec::new()),
                        EvictedRows::Numbers(gone) => {
                            (0..0, gone.iter().copied().map(signed).collect())
                        }
                    };
                    let (start, end) = (signed(range.start as u64), signed(range.end as u64));
                    let evicted: [&(dyn ToSql + Sync); 3] = [&start, &end, &gone];
                    let parameters = [&common[..], &evicted[..], &closed[..]].concat();
                    connection.execute(&sql.advance, &parameters).await?
                }
            }
        };
        Ok(if written == 0 { CommitOutcome::Refused } else { CommitOutcome::Applied })
    }

    /// Returns the reason why a commit wrote no row, or `Ok` if an earlier attempt was applied.
    ///
    /// Queries the state again, because the statement itself may have seen the state before the commit it
    /// waited for.
    async fn refusal_reason(
        &self,
        connection: &mut Connection,
        commit: &Commit<'_>,
        expected: Option<u64>,
    ) -> Result<(), AttemptFailure> {
        let Commit { id, lease, pending, .. } = commit;
        let parameters: Parameters<'_> = &[&id.as_str().as_bytes(), lease];
        let found = connection.query(&self.0.sql.refusal_reason, parameters).await?;
        let Some(row) = found.first() else { return Err(conflict(id).into()) };
        let version = row.try_get::<_, Option<i64>>("version")?.unwrap_or(0);
        // A negative version is damage, which reading reports below.
        let settled = pending.settle(u64::try_from(version).unwrap_or(0), &log(Some(row))?)?;
        if settled == Settled::Applied {
            return Ok(());
        }
        if !row.try_get::<_, bool>("is_leased")? {
            return Err(lease_lost(id).into());
        }
        if expected.is_some_and(|expected| signed(expected) != version) {
            return Err(conflict(id).into());
        }
        let closed = commit.change.closed_journal();
        if closed.is_some() && closed != position(row)? {
            return Err(journal_moved(id).into());
        }
        // Reading reports damage. Otherwise another writer was faster and has finished.
        self.read(connection, id, None).await?;
        Err(AttemptFailure::contended(conflict(id)))
    }
}

impl PlannedCommit {
    fn for_advance(id: &MemoryId, version: u64, change: &Change) -> Result<Option<Self>> {
        let Some(plan) = CommitPlan::for_advance(id, version, change)? else { return Ok(None) };
        let bounds = change.oldest_kept_numbers().map(|kept| bounds(version, kept));
        Ok(Some(Self { version, plan, bounds }))
    }

    fn for_replacement<D: AsRef<[u8]>>(
        id: &MemoryId,
        head: Option<ConversationHead>,
        rows: &[(u64, D)],
        change: &Change,
    ) -> Result<Self> {
        let plan = CommitPlan::for_replacement(id, head, rows, change)?;
        let is_kept = |number: &u64| match &plan.evicted {
            EvictedRows::Numbers(evicted) => evicted.binary_search(number).is_err(),
            EvictedRows::Positions(_) => true,
        };
        let mut kept = rows.iter().map(|(number, _)| *number).filter(is_kept);
        let version = head.map_or(0, |head| head.version);
        let bounds = Some(bounds(version, [kept.next(), kept.next()]));
        Ok(Self { version, plan, bounds })
    }
}

/// Returns the bounds of the numbers in memory after a commit at `version`, from the two oldest numbers that
/// stay. New rows have higher numbers than the version.
fn bounds(version: u64, oldest_kept: [Option<u64>; 2]) -> [i64; 2] {
    let [oldest, second] = oldest_kept.map(|number| number.unwrap_or(version + 1));
    // Adjacent rows are read by one scan.
    let second = if second == oldest + 1 { oldest } else { second };
    [signed(oldest), signed(second)]
}

impl Commit<'_> {
    /// Records a failed attempt that may have been applied.
    fn note(&self, failure: &AttemptFailure, version: u64) {
        if failure.may_be_executed() {
            self.pending.lose_answer(version);
        }
    }
}
