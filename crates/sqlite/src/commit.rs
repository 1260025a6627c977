//! Commits: one change of one conversation.

use super::error_mapping::{Operation, TaskFailure};
use super::head::{HeadRow, check_lost, signed};
use super::read;
use ai_services_core::memory::{Change, EvictedMessages, MemoryId, UnreadableRecord};
use ai_services_core::store_kit::commits::{PendingCommit, Settled};
use ai_services_core::store_kit::failpoint::failpoint;
use ai_services_core::store_kit::plan::{CommitPlan, EvictedRows};
use ai_services_core::store_kit::{conflict, lease_lost};
use ai_services_core::{Error, Result};
use rusqlite::Connection;
use std::ops::Range;

/// A change that is to be committed.
pub(super) struct Commit {
    id: MemoryId,
    change: Change,
    /// Plan, if it does not depend on stored rows.
    plan: Option<CommitPlan>,
    evicted_messages: EvictedMessages,
    /// Identifies the commit if it runs again after an uncertain outcome.
    pending: PendingCommit,
}

impl Commit {
    /// Plans the change as far as possible on the caller's thread, to relieve the writer thread.
    pub(super) fn new(
        id: &MemoryId,
        change: Change,
        evicted_messages: EvictedMessages,
    ) -> Result<Self> {
        let plan = match change.expected_version() {
            Some(version) => CommitPlan::for_advance(id, version, &change)?,
            None => None,
        };
        let pending = PendingCommit::new(id, &change);
        Ok(Self { id: id.clone(), change, plan, evicted_messages, pending })
    }

    /// Applies the change. Idempotent: applies it once, however often it is called.
    pub(super) fn run(&self, connection: &Connection) -> Result<(), TaskFailure> {
        let head = HeadRow::read(connection, &self.id)?;
        let is_new = head.is_none();
        let present = head.unwrap_or_default();
        if self.pending.settle(present.version, &present.commits)? == Settled::Applied {
            return Ok(());
        }
        self.check(&present)?;
        if is_new {
            check_lost(connection, &self.id)?;
        }
        failpoint!("sqlite.after_version_check");
        let planned;
        let plan = match &self.plan {
            Some(plan) => plan,
            None => {
                planned = self.plan(connection, Some(&present).filter(|_| !is_new))?;
                &planned
            }
        };
        let evicted = self.evict(connection, &plan.evicted, present.messages)?;
        failpoint!("sqlite.after_eviction");
        self.append(connection, &plan.rows)?;
        failpoint!("sqlite.after_append");
        let mut commits = present.commits;
        commits.push(self.pending.entry(present.version));
        let after = HeadRow {
            version: plan.version,
            messages: present.messages.saturating_sub(evicted) + plan.rows.len() as u64,
            commits,
            lease: present.lease.filter(|_| self.change.lease().is_none()),
        };
        after.write(connection, &self.id)?;
        failpoint!("sqlite.after_head");
        Ok(())
    }

    pub(super) fn change(&self) -> &Change {
        &self.change
    }

    /// Returns the error for the caller.
    pub(super) fn explain(&self, failure: TaskFailure) -> Error {
        if failure.may_be_applied() {
            self.pending.lose_answer(0);
        }
        self.pending.fail(failure.into_error(Operation { verb: "change", id: Some(&self.id) }))
    }

    /// Checks the expected version and the lease.
    fn check(&self, present: &HeadRow) -> Result<()> {
        if self.change.expected_version().is_some_and(|version| version != present.version) {
            return Err(conflict(&self.id));
        }
        if self.change.lease().is_some_and(|token| !present.is_leased_to(token)) {
            return Err(lease_lost(&self.id));
        }
        Ok(())
    }

    fn plan(
        &self,
        connection: &Connection,
        head: Option<&HeadRow>,
    ) -> Result<CommitPlan, TaskFailure> {
        let version = head.map_or(0, |head| head.version);
        if let Some(plan) = CommitPlan::for_advance(&self.id, version, &self.change)? {
            return Ok(plan);
        }
        let rows = read::rows(connection, &self.id, 0)?;
        Ok(CommitPlan::for_replacement(&self.id, head.map(Into::into), &rows, &self.change)?)
    }

    /// Evicts rows from memory and returns their number.
    fn evict(
        &self,
        connection: &Connection,
        evict: &EvictedRows,
        messages: u64,
    ) -> Result<u64, TaskFailure> {
        match evict {
            EvictedRows::Positions(range) => self.evict_positions(connection, range, messages),
            EvictedRows::Numbers(numbers) => {
                for number in numbers {
                    self.evict_between(connection, signed(*number), signed(*number), 1)?;
                }
                Ok(numbers.len() as u64)
            }
        }
    }

    fn evict_positions(
        &self,
        connection: &Connection,
        range: &Range<usize>,
        messages: u64,
    ) -> Result<u64, TaskFailure> {
        let (start, end) = (range.start as u64, messages.min(range.end as u64));
        let count = end.saturating_sub(start);
        if count == 0 {
            return Ok(0);
        }
        let mut numbers = connection.prepare_cached(
            "SELECT min(number), max(number) FROM
                 (SELECT number FROM message WHERE id = ?1 ORDER BY number LIMIT ?2 OFFSET ?3)",
        )?;
        let parameters = (self.id.as_str(), signed(count), signed(start));
        let (first, last) = numbers.query_row(parameters, |row| Ok((row.get(0)?, row.get(1)?)))?;
        self.evict_between(connection, first, last, count)?;
        Ok(count)
    }

    /// Evicts the rows numbered `first` to `last`. Fails unless there are `count` of them.
    fn evict_between(
        &self,
        connection: &Connection,
        first: i64,
        last: i64,
        count: u64,
    ) -> Result<(), TaskFailure> {
        let range = (self.id.as_str(), first, last);
        if self.evicted_messages == EvictedMessages::Keep {
            let mut keep = connection.prepare_cached(
                "INSERT INTO history (id, number, record)
                 SELECT id, number, record FROM message
                 WHERE id = ?1 AND number BETWEEN ?2 AND ?3",
            )?;
            keep.execute(range)?;
        }
        let mut delete = connection
            .prepare_cached("DELETE FROM message WHERE id = ?1 AND number BETWEEN ?2 AND ?3")?;
        if delete.execute(range)? as u64 == count {
            return Ok(());
        }
        let reason = "it counts more messages than there are";
        Err(UnreadableRecord::corrupt(&self.id, "the head", reason).into())
    }

    fn append(&self, connection: &Connection, rows: &[(u64, String)]) -> Result<(), TaskFailure> {
        let mut insert = connection
            .prepare_cached("INSERT INTO message (id, number, record) VALUES (?1, ?2, ?3)")?;
        for (number, record) in rows {
            insert.execute((self.id.as_str(), signed(*number), record))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Durability;
    use super::super::connection::{Settings, open_in_memory};
    use super::*;
    use ai_services_core::message::ChatMessage;
    use std::time::Duration;

    fn commit(text: &str) -> Commit {
        let change = Change::advance(None, 0..0, vec![ChatMessage::user(text)]);
        Commit::new(&"klaus".into(), change, EvictedMessages::Delete).unwrap()
    }

    /// If `COMMIT` fails although the transaction is durable, each change of the transaction runs again.
    #[test]
    fn commit_that_runs_again_is_applied_once() {
        let busy_timeout = Duration::from_secs(1);
        let settings = Settings { durability: Durability::Full, busy_timeout };
        let connection = open_in_memory(&settings).unwrap();
        let commits: Vec<_> = ["a", "b", "c"].map(commit).into();
        for _ in 0..2 {
            commits.iter().for_each(|commit| commit.run(&connection).unwrap());
        }
        assert_eq!(read::rows(&connection, &"klaus".into(), 0).unwrap().len(), 3);
    }
}
