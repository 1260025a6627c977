//! One change of one conversation.

use super::fault::Fault;
use super::head::{Head, check_lost, signed};
use super::read;
use ai_services_core::Result;
use ai_services_core::memory::{
    Change, EvictedMessages, MemoryId, UnreadableRecord, conflict, lease_lost, random,
};
use ai_services_core::store_kit::failpoint::failpoint;
use ai_services_core::store_kit::plan::{Evict, Plan};
use rusqlite::Connection;
use std::ops::Range;

/// A change on its way into the database.
pub(super) struct Commit {
    id: MemoryId,
    change: Change,
    /// The plan, if it could be made without reading.
    plan: Option<Plan>,
    evicted_messages: EvictedMessages,
    /// Tells a change that was made from one that was not, if the database could not say.
    token: i64,
}

impl Commit {
    /// Plans what can be planned, so that the one thread that writes has less to do.
    pub(super) fn new(
        id: &MemoryId,
        change: Change,
        evicted_messages: EvictedMessages,
    ) -> Result<Self> {
        let plan = match change.expected_version() {
            Some(version) => Plan::advancing(id, version, &change)?,
            None => None,
        };
        let token = random().cast_signed();
        Ok(Self { id: id.clone(), change, plan, evicted_messages, token })
    }

    /// Makes the change, once, however often it is called.
    pub(super) fn run(&self, connection: &Connection) -> Result<(), Fault> {
        let head = Head::read(connection, &self.id)?;
        if head.is_some_and(|head| head.commit_token == self.token) {
            return Ok(());
        }
        let present = head.unwrap_or_default();
        self.check(&present)?;
        if head.is_none() {
            check_lost(connection, &self.id)?;
        }
        failpoint!("sqlite.after_version_check");
        let planned;
        let plan = match &self.plan {
            Some(plan) => plan,
            None => {
                planned = self.plan(connection, head)?;
                &planned
            }
        };
        let evicted = self.evict(connection, &plan.evict, present.messages)?;
        failpoint!("sqlite.after_eviction");
        self.append(connection, &plan.rows)?;
        failpoint!("sqlite.after_append");
        let after = Head {
            version: plan.version,
            messages: present.messages.saturating_sub(evicted) + plan.rows.len() as u64,
            commit_token: self.token,
            lease: present.lease.filter(|_| self.change.lease().is_none()),
        };
        after.write(connection, &self.id)?;
        failpoint!("sqlite.after_head");
        Ok(())
    }

    fn check(&self, present: &Head) -> Result<()> {
        if self.change.expected_version().is_some_and(|version| version != present.version) {
            return Err(conflict(&self.id));
        }
        if self.change.lease().is_some_and(|token| !present.is_leased_to(token)) {
            return Err(lease_lost(&self.id));
        }
        Ok(())
    }

    fn plan(&self, connection: &Connection, head: Option<Head>) -> Result<Plan, Fault> {
        let version = head.map_or(0, |head| head.version);
        if let Some(plan) = Plan::advancing(&self.id, version, &self.change)? {
            return Ok(plan);
        }
        let rows = read::rows(connection, &self.id)?;
        Ok(Plan::replacing(&self.id, head.map(Into::into), &rows, &self.change)?)
    }

    /// Takes rows out of the memory and says how many.
    fn evict(&self, connection: &Connection, evict: &Evict, messages: u64) -> Result<u64, Fault> {
        match evict {
            Evict::Positions(range) => self.evict_positions(connection, range, messages),
            Evict::Numbers(numbers) => {
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
    ) -> Result<u64, Fault> {
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

    /// Takes out all rows from `first` to `last`, which must be `count`.
    fn evict_between(
        &self,
        connection: &Connection,
        first: i64,
        last: i64,
        count: u64,
    ) -> Result<(), Fault> {
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
        match delete.execute(range)? as u64 == count {
            true => Ok(()),
            false => Err(UnreadableRecord::corrupt(
                &self.id,
                "the head",
                "it promises more messages than there are",
            )
            .into()),
        }
    }

    fn append(&self, connection: &Connection, rows: &[(u64, String)]) -> Result<(), Fault> {
        let mut insert = connection
            .prepare_cached("INSERT INTO message (id, number, record) VALUES (?1, ?2, ?3)")?;
        for (number, record) in rows {
            insert.execute((self.id.as_str(), signed(*number), record))?;
        }
        Ok(())
    }
}
