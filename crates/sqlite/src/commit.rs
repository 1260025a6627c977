//! Commits: one change of one conversation.

use super::error_mapping::{Operation, TaskFailure};
use super::head::{HeadRow, check_lost, signed};
use super::slots::{Place, Slots};
use super::{journal, read};
use ai_services_core::memory::{Change, EvictedMessages, MemoryId, UnreadableRecord};
use ai_services_core::store_kit::commits::{PendingCommit, Settled};
use ai_services_core::store_kit::failpoint::failpoint;
use ai_services_core::store_kit::plan::{CommitPlan, EvictedRows};
use ai_services_core::store_kit::{conflict, lease_lost};
use ai_services_core::{Error, Result};
use rusqlite::Connection;
use std::collections::BTreeMap;

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
        if let Some(closed) = self.change.closed_journal() {
            journal::close(connection, &self.id, closed)?;
            failpoint!("sqlite.after_journal_close");
        }
        let plan = match &self.plan {
            Some(plan) => plan,
            None => {
                planned = self.plan(connection, Some(&present).filter(|_| !is_new))?;
                &planned
            }
        };
        let mut slots = read::slots(connection, &self.id, &present)?;
        let evicted = self.evict(&plan.evicted, &mut slots)?;
        if self.evicted_messages == EvictedMessages::Keep {
            self.keep(connection, &evicted)?;
        }
        failpoint!("sqlite.after_eviction");
        self.overwrite(connection, evicted, &plan.rows, &mut slots)?;
        failpoint!("sqlite.after_append");
        let mut commits = present.commits;
        commits.push(self.pending.entry(present.version));
        let after = HeadRow {
            version: plan.version,
            messages: slots.len(),
            commits,
            slots: slots.encode(),
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
        let rows = read::rows(connection, &self.id)?;
        Ok(CommitPlan::for_replacement(&self.id, head.map(Into::into), &rows, &self.change)?)
    }

    /// Removes evicted messages from the slots, and returns their places.
    fn evict(&self, evict: &EvictedRows, slots: &mut Slots) -> Result<Vec<Place>, TaskFailure> {
        let numbers = match evict {
            EvictedRows::Positions(range) => {
                return Ok(slots.remove(range.start as u64..range.end as u64));
            }
            EvictedRows::Numbers(numbers) => numbers,
        };
        let mut evicted = Vec::with_capacity(numbers.len());
        for number in numbers {
            let Some(at) = slots.position(*number) else { return Err(self.misplaced(*number)) };
            evicted.append(&mut slots.remove(at..at + 1));
        }
        Ok(evicted)
    }

    /// Copies evicted rows to the history.
    fn keep(&self, connection: &Connection, evicted: &[Place]) -> Result<(), TaskFailure> {
        let mut keep = connection.prepare_cached(
            "INSERT INTO history (id, number, record)
             SELECT id, number, record FROM conversation
             WHERE id = ?1 AND slot = ?2 AND number = ?3",
        )?;
        for Place { number, slot } in evicted {
            if keep.execute((self.id.as_str(), signed(*slot), signed(*number)))? != 1 {
                return Err(self.misplaced(*number));
            }
        }
        Ok(())
    }

    /// Writes new rows, over evicted ones if possible, and deletes the other evicted ones. A row with another
    /// number than expected is neither overwritten nor deleted.
    fn overwrite(
        &self,
        connection: &Connection,
        evicted: Vec<Place>,
        rows: &[(u64, String)],
        slots: &mut Slots,
    ) -> Result<(), TaskFailure> {
        let id = self.id.as_str();
        let free: Vec<_> = slots.free(&evicted).take(rows.len()).collect();
        let mut evicted: BTreeMap<_, _> =
            evicted.into_iter().map(|place| (place.slot, place.number)).collect();
        let mut update = connection.prepare_cached(
            "UPDATE conversation SET number = ?3, record = ?4
             WHERE id = ?1 AND slot = ?2 AND number = ?5",
        )?;
        let mut insert = connection.prepare_cached(
            "INSERT INTO conversation (id, slot, number, record) VALUES (?1, ?2, ?3, ?4)",
        )?;
        for ((number, record), slot) in rows.iter().zip(free) {
            let (at, new) = (signed(slot), signed(*number));
            match evicted.remove(&slot) {
                None => drop(insert.execute((id, at, new, record))?),
                Some(old) if update.execute((id, at, new, record, signed(old)))? == 1 => {}
                Some(old) => return Err(self.misplaced(old)),
            }
            slots.push(Place { number: *number, slot });
        }
        let mut delete = connection.prepare_cached(
            "DELETE FROM conversation WHERE id = ?1 AND slot = ?2 AND number = ?3",
        )?;
        for (slot, number) in evicted {
            if delete.execute((id, signed(slot), signed(number)))? != 1 {
                return Err(self.misplaced(number));
            }
        }
        Ok(())
    }

    /// Returns the error for a message that is not in the slot that the head has for it.
    fn misplaced(&self, number: u64) -> TaskFailure {
        let reason = format_args!("message {number} is not in its slot");
        UnreadableRecord::corrupt(&self.id, "the head", reason).into()
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
        assert_eq!(read::rows(&connection, &"klaus".into()).unwrap().len(), 3);
    }
}
