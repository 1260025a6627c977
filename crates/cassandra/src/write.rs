//! Writing of a commit exactly once, even if its answer is lost.

use super::CassandraChatMemoryStore;
use super::error_mapping::AttemptFailure;
use super::rows::{StoredMessage, bigint, token};
use super::session::{ConditionOutcome, ConditionValues, ConditionalBatch};
use super::statements::{EVICTED, Statements};
use ai_services_core::memory::{LeaseToken, MemoryId};
use ai_services_core::store_kit::failpoint::failpoint;
use ai_services_core::store_kit::time;
use ai_services_core::{Error, ErrorKind, Result};
use scylla::response::PagingState;

/// A commit, with the values that detect whether it was applied.
pub(super) struct Commit<'a> {
    pub(super) id: &'a MemoryId,
    /// Expected version.
    pub(super) before: Option<i64>,
    pub(super) lease: Option<LeaseToken>,
    pub(super) token: i64,
    /// New version.
    pub(super) after: i64,
    /// Number of the first row that it writes.
    pub(super) first: Option<i64>,
}

/// The state of a commit whose answer was lost.
enum CommitState {
    Applied,
    /// The conversation has not changed.
    Unchanged,
    /// The commit was not applied and never will be.
    Superseded(ConditionValues),
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
                Err(failure) => attempts.record_failure(failure).await.map(|()| None),
            };
            match self.commit_state(commit).await? {
                CommitState::Applied => return Ok(ConditionOutcome::Applied),
                CommitState::Superseded(present) => return Ok(ConditionOutcome::Refused(present)),
                CommitState::Unchanged => {
                    if let Some(refused) = outcome? {
                        return Ok(refused);
                    }
                }
            }
        }
    }

    /// Determines the state of a commit whose answer was lost.
    ///
    /// A serial read completes unfinished commits and sees them. If other commits have followed, the rows
    /// with the commit's numbers contain the token of the commit that wrote them.
    async fn commit_state(&self, commit: &Commit<'_>) -> Result<CommitState> {
        let statements = self.statements().await?;
        let head = self.head(commit.id, &statements.read.latest_head).await?;
        let present = head.map(|head| head.present).unwrap_or_default();
        if head.is_some_and(|head| head.commit_token == Some(commit.token)) {
            return Ok(CommitState::Applied);
        }
        if present.version == commit.before {
            return Ok(CommitState::Unchanged);
        }
        let Some(first) = commit.first else { return Err(in_doubt(commit.id)) };
        let action = "look for a commit";
        let values = (commit.id.as_str(), first);
        let (rows, _) = self
            .client()
            .page(action, &statements.read.origin, &values, PagingState::start())
            .await?;
        let rows = rows.rows::<(Option<i64>,)>();
        let rows = rows.map_err(|error| AttemptFailure::answer(action, error).error)?;
        let writers: Vec<_> = rows.flatten().map(|(writer,)| writer).collect();
        if writers.contains(&Some(commit.token)) {
            return Ok(CommitState::Applied);
        }
        // Versions are never reused: another commit that wrote this row has superseded this one.
        if !writers.is_empty() || commit.is_of_another_creation(present.version) {
            Ok(CommitState::Superseded(present))
        } else {
            Err(in_doubt(commit.id))
        }
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
        let Self { id, before, after: version, token, .. } = *self;
        let id = id.as_str();
        let now = time::now();
        match self.lease_number() {
            None => {
                batch.add(&statements.write.commit, (version, messages, now, token, id, before));
            }
            Some(lease) => {
                let head = (version, messages, now, token, id, before, lease);
                batch.add(&statements.write.commit_under_lease, head);
            }
        }
        batch.add(&statements.write.anchor, (id,));
    }

    /// Adds the condition alone to a batch.
    pub(super) fn add_condition(&self, batch: &mut ConditionalBatch<'a>, statements: &Statements) {
        let (id, before) = (self.id.as_str(), self.before);
        match self.lease_number() {
            None => batch.add(&statements.write.guard, (before, id, before)),
            Some(lease) => {
                batch.add(&statements.write.guard_under_lease, (before, id, before, lease));
            }
        }
    }

    /// Returns whether a conversation with this version was created by another writer. First versions are
    /// random, and later versions follow them.
    fn is_of_another_creation(&self, version: Option<i64>) -> bool {
        let following = self.after..self.after.saturating_add(1 << 32);
        self.before.is_none() && version.is_some_and(|version| !following.contains(&version))
    }

    /// Adds copies of rows to the history to a batch.
    pub(super) fn add_history<'b: 'a>(
        &self,
        batch: &mut ConditionalBatch<'a>,
        statements: &Statements,
        messages: &[&'b StoredMessage],
    ) {
        for message in messages {
            let StoredMessage { number, record, token } = message;
            let row = (self.id.as_str(), EVICTED, bigint(*number), record, *token);
            batch.add(&statements.write.insert, row);
        }
    }

    fn lease_number(&self) -> Option<i64> {
        self.lease.map(|lease| token(lease.get()))
    }
}

fn in_doubt(id: &MemoryId) -> Error {
    let message = format!(
        "the connection broke while the conversation `{id}` was changed, and other writers have changed it \
         since; load it again to check whether the change was applied"
    );
    Error::new(ErrorKind::Conflict, message)
}
