//! Commits.
//!
//! A commit reads the head and the evicted rows, and then writes in one lightweight transaction that is
//! conditional on the version that it has read. If the read was outdated, the condition does not hold.

use super::CassandraChatMemoryStore;
use super::eviction::Eviction;
use super::rows::{MemoryRow, NumberRow, RawText, Stored, StoredMessage, bigint, token};
use super::session::ConditionOutcome;
use super::statements::{MESSAGE, Statements};
use super::write::Commit;
use ai_services_core::memory::{Change, EvictedMessages, MemoryId, UnreadableRecord};
use ai_services_core::store_kit::commits::{PendingCommit, Settled};
use ai_services_core::store_kit::failpoint::failpoint;
use ai_services_core::store_kit::limits;
use ai_services_core::store_kit::plan::{CommitPlan, ConversationHead};
use ai_services_core::store_kit::{conflict, journal_moved, lease_lost, random};
use ai_services_core::{Error, ErrorKind, Result};

/// Maximum number of attempts for a change without an expected version if other writers are faster. In each
/// round at least one writer makes progress, possibly the same one.
pub(super) const CONFLICTS: u32 = 40;

/// Size of a portion of evicted rows in bytes. If the request would be larger, evicted rows are copied to the
/// history in portions before the commit, because a request has at most 16 MiB.
const PORTION: usize = 4 << 20;

/// Estimated size of a row in a batch without its record and id, in bytes.
const OVERHEAD: usize = 64;

impl CassandraChatMemoryStore {
    pub(super) async fn commit_change(&self, id: &MemoryId, change: &Change) -> Result<()> {
        limits::check_id(id)?;
        let pending = PendingCommit::new(id, change);
        let outcome = self.attempt_until_applied(id, change, &pending).await;
        outcome.map_err(|error| pending.fail(error))
    }

    async fn attempt_until_applied(
        &self,
        id: &MemoryId,
        change: &Change,
        pending: &PendingCommit,
    ) -> Result<()> {
        for number in 0..CONFLICTS {
            let present = match self.attempt(id, change, pending).await? {
                ConditionOutcome::Applied => return Ok(()),
                ConditionOutcome::Refused(present) => present,
            };
            let version = present.version.and_then(|version| u64::try_from(version).ok());
            let is_stale = change.expected_version().is_some_and(|it| it != version.unwrap_or(0));
            if is_stale {
                return Err(conflict(id));
            }
            if change.lease().is_some_and(|lease| present.lease != Some(token(lease.get()))) {
                return Err(lease_lost(id));
            }
            // Another writer came first. With an expected version the conflict was returned above, unless
            // the conversation reached that version a moment later, or the journal has moved.
            pause_between(number).await;
        }
        Err(conflict(id))
    }

    /// Attempts the change once, on the current state.
    async fn attempt(
        &self,
        id: &MemoryId,
        change: &Change,
        pending: &PendingCommit,
    ) -> Result<ConditionOutcome> {
        let statements = self.statements().await?;
        let (stored, plan) = self.plan(id, change, statements).await?;
        let version = stored.head.map(|head| head.version);
        if pending.settle(version.unwrap_or(0), &stored.commits)? == Settled::Applied {
            return Ok(ConditionOutcome::Applied);
        }
        if change.expected_version().is_some_and(|it| it != version.unwrap_or(0)) {
            return Err(conflict(id));
        }
        let closed = change.closed_journal();
        if closed.is_some() && closed != stored.journal {
            return Err(journal_moved(id));
        }
        let eviction = Eviction::new(&plan.evicted, &stored.messages);
        let messages = count(id, stored.head, &eviction, plan.rows.len())?;
        let mut commits = stored.commits.clone();
        commits.push(pending.entry(version.unwrap_or(0)));
        let (lease, after) = (change.lease(), bigint(plan.version));
        let commit = Commit { id, before: version, lease, after, commits, closed, pending };
        let moved: &[_] = match self.evicted_messages() {
            EvictedMessages::Keep => &eviction.messages,
            EvictedMessages::Delete => &[],
        };
        let size = |record: &[u8]| record.len() + id.as_str().len() + OVERHEAD;
        let appended: usize = plan.rows.iter().map(|(_, record)| size(record.as_bytes())).sum();
        let kept: usize = moved.iter().map(|message| size(&message.record.0)).sum();
        let mut batch = self.client().new_batch();
        commit.add_head(&mut batch, statements, messages);
        if kept == 0 || appended + kept <= PORTION {
            commit.add_history(&mut batch, statements, moved);
        } else if let ConditionOutcome::Refused(present) =
            self.copy_to_history(&commit, moved).await?
        {
            return Ok(ConditionOutcome::Refused(present));
        }
        for range in &eviction.ranges {
            batch.add(&statements.write.evict, (id.as_str(), range.0, range.1));
        }
        for (number, record) in &plan.rows {
            let row = (id.as_str(), MESSAGE, bigint(*number), record.as_str());
            batch.add(&statements.write.insert, row);
        }
        self.write(&commit, &batch).await
    }

    /// Plans the change. Returns the stored state on which the plan depends, too.
    async fn plan(
        &self,
        id: &MemoryId,
        change: &Change,
        statements: &Statements,
    ) -> Result<(Stored, CommitPlan)> {
        let Some(evicted) = change.evicted() else {
            let stored = self.read_rows::<MemoryRow>(id, &statements.read.rows, None).await?;
            let rows: Vec<(u64, &RawText)> =
                stored.messages.iter().map(|message| (message.number, &message.record)).collect();
            let plan = CommitPlan::for_replacement(id, stored.head, &rows, change)?;
            return Ok((stored, plan));
        };
        let needed = if evicted.is_empty() { 0 } else { evicted.end };
        let stored = match self.evicted_messages() {
            EvictedMessages::Keep if needed > 0 => {
                self.read_rows::<MemoryRow>(id, &statements.read.rows, Some(needed)).await?
            }
            _ => self.read_rows::<NumberRow>(id, &statements.read.numbers, Some(needed)).await?,
        };
        let (head, found) = (stored.head.map_or(0, |head| head.messages), stored.messages.len());
        if found < needed && found as u64 != head {
            let reason = format!("it counts {head} messages, but there are {found}");
            return Err(UnreadableRecord::corrupt(id, "the head", reason).into());
        }
        let version = stored.head.map_or(0, |head| head.version);
        match CommitPlan::for_advance(id, version, change)? {
            Some(plan) => Ok((stored, plan)),
            None => Err(Error::new(ErrorKind::Store, "a change replaces and evicts")),
        }
    }

    /// Copies evicted rows to the history before they leave the memory. Until the commit they are stored in
    /// both, and count as messages in memory.
    async fn copy_to_history(
        &self,
        commit: &Commit<'_>,
        moved: &[&StoredMessage],
    ) -> Result<ConditionOutcome> {
        let statements = self.statements().await?;
        let mut rest = moved;
        while !rest.is_empty() {
            let mut bytes = 0;
            let fits = rest.iter().take_while(|message| {
                bytes += message.record.0.len();
                bytes <= PORTION
            });
            let (portion, others) = rest.split_at(fits.count().clamp(1, rest.len()));
            let mut batch = self.client().new_batch();
            commit.add_condition(&mut batch, statements);
            commit.add_history(&mut batch, statements, portion);
            let client = self.client();
            // The batch is idempotent.
            let outcome = client.retry(|| client.batch("keep messages", &batch)).await?;
            if let ConditionOutcome::Refused(_) = outcome {
                return Ok(outcome);
            }
            failpoint!("cassandra.after_portion");
            rest = others;
        }
        Ok(ConditionOutcome::Applied)
    }
}

/// Returns the number of messages after a commit.
fn count(
    id: &MemoryId,
    head: Option<ConversationHead>,
    eviction: &Eviction<'_>,
    appended: usize,
) -> Result<i64> {
    let before = head.map_or(0, |head| head.messages);
    let kept = before.checked_sub(eviction.messages.len() as u64);
    let after = kept.and_then(|kept| kept.checked_add(appended as u64));
    after.map(bigint).ok_or_else(|| {
        let reason = format!("it counts {before} messages, but there are more");
        UnreadableRecord::corrupt(id, "the head", reason).into()
    })
}

/// Waits a random time with exponential back-off, so that other writers can finish.
async fn pause_between(number: u32) {
    let longest = 4_u64 << number.min(5);
    tokio::time::sleep(std::time::Duration::from_millis(random() % longest)).await;
}
