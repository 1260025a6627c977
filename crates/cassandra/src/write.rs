//! Writing of a commit exactly once, even if its answer is lost.

use super::CassandraChatMemoryStore;
use super::rows::{StoredMessage, bigint, token};
use super::session::{ConditionOutcome, ConditionValues, ConditionalBatch};
use super::statements::{EVICTED, JOURNAL, Statements};
use ai_services_core::Result;
use ai_services_core::memory::{CommitState, JournalPosition, LeaseToken, MemoryId, RequestId};
use ai_services_core::store_kit::commits::{CommitLog, PendingCommit, Settled};
use ai_services_core::store_kit::failpoint::failpoint;
use ai_services_core::store_kit::time;

/// A commit at one version.
pub(super) struct Commit<'a> {
    pub(super) id: &'a MemoryId,
    /// Expected version.
    pub(super) before: Option<u64>,
    pub(super) lease: Option<LeaseToken>,
    /// New version.
    pub(super) after: i64,
    /// New log of commits.
    pub(super) commits: CommitLog,
    /// Position of the journal that the commit deletes.
    pub(super) closed: Option<JournalPosition>,
    /// Detects whether the commit was applied.
    pub(super) pending: &'a PendingCommit,
}

impl CassandraChatMemoryStore {
    /// Writes a commit exactly once, with retries.
    pub(super) async fn write(
        &self,
        commit: &Commit<'_>,
        batch: &ConditionalBatch<'_>,
    ) -> Result<ConditionOutcome> {
        let mut attempts = self.client().attempts();
        loop {
            failpoint!("cassandra.before_commit");
            let outcome = match self.client().batch("commit a turn", batch).await {
                Ok(ConditionOutcome::Applied) => {
                    failpoint!("cassandra.after_commit");
                    return Ok(ConditionOutcome::Applied);
                }
                Ok(refused) if attempts.is_first() => return Ok(refused),
                // The condition may be false because the first attempt was applied.
                Ok(refused) => Ok(Some(refused)),
                Err(failure) if !failure.is_transient() => return Err(failure.error),
                Err(failure) => {
                    commit.pending.lose_answer(commit.before.unwrap_or(0));
                    attempts.record_failure(failure).await.map(|()| None)
                }
            };
            let (settled, present) = self.settle(commit).await?;
            if settled == Settled::Applied {
                return Ok(ConditionOutcome::Applied);
            }
            if present.version != commit.before.map(bigint) {
                return Ok(ConditionOutcome::Refused(present));
            }
            if let Some(refused) = outcome? {
                return Ok(refused);
            }
        }
    }

    /// Decides whether a commit was applied whose answer was lost.
    ///
    /// A serial read completes unfinished commits and sees them.
    async fn settle(&self, commit: &Commit<'_>) -> Result<(Settled, ConditionValues)> {
        let statements = self.statements().await?;
        let head = self.head(commit.id, &statements.read.latest_head).await?;
        let (present, commits) = head.map(|head| (head.present, head.commits)).unwrap_or_default();
        let version = present.version.and_then(|version| u64::try_from(version).ok());
        Ok((commit.pending.settle(version.unwrap_or(0), &commits)?, present))
    }

    /// Returns whether the commit of a request was applied. Completes unfinished commits first.
    pub(super) async fn state_of_commit(
        &self,
        id: &MemoryId,
        request: &RequestId,
    ) -> Result<CommitState> {
        let statements = self.statements().await?;
        let head = self.head(id, &statements.read.latest_head).await?;
        Ok(head.map(|head| head.commits).unwrap_or_default().state_of(request))
    }
}

impl<'a> Commit<'a> {
    /// Adds the condition and the new head to a batch.
    pub(super) fn add_head(
        &self,
        batch: &mut ConditionalBatch<'a>,
        statements: &Statements,
        messages: i64,
    ) {
        let (id, before, version) = (self.id.as_str(), self.before.map(bigint), self.after);
        let (now, write) = (time::now(), &statements.write);
        let closed = self.closed.map(|position| position.to_string());
        match (self.lease_number(), closed) {
            (None, None) => batch.add(&write.commit, (version, messages, now, id, before)),
            (Some(lease), None) => {
                let head = (version, messages, now, id, before, lease);
                batch.add(&write.commit_under_lease, head);
            }
            (None, Some(closed)) => {
                batch.add(&write.closing_commit, (version, messages, now, id, before, closed));
            }
            (Some(lease), Some(closed)) => {
                let head = (version, messages, now, id, before, lease, closed);
                batch.add(&write.closing_commit_under_lease, head);
            }
        }
        if self.closed.is_some() {
            batch.add(&write.delete_kind, (id, JOURNAL));
        }
        batch.add(&statements.write.anchor, (id, self.commits.as_bytes().to_vec()));
    }

    /// Adds the condition alone to a batch.
    pub(super) fn add_condition(&self, batch: &mut ConditionalBatch<'a>, statements: &Statements) {
        let (id, before) = (self.id.as_str(), self.before.map(bigint));
        match self.lease_number() {
            None => batch.add(&statements.write.guard, (before, id, before)),
            Some(lease) => {
                batch.add(&statements.write.guard_under_lease, (before, id, before, lease));
            }
        }
    }

    /// Adds copies of rows to the history to a batch.
    pub(super) fn add_history<'b: 'a>(
        &self,
        batch: &mut ConditionalBatch<'a>,
        statements: &Statements,
        messages: &[&'b StoredMessage],
    ) {
        for message in messages {
            let StoredMessage { number, record } = message;
            let row = (self.id.as_str(), EVICTED, bigint(*number), record);
            batch.add(&statements.write.insert, row);
        }
    }

    fn lease_number(&self) -> Option<i64> {
        self.lease.map(|lease| token(lease.get()))
    }
}
