//! Writing a commit once, even if its answer does not arrive.

use super::CassandraChatMemoryStore;
use super::fault::Fault;
use super::rows::{StoredMessage, bigint, token};
use super::session::{ConditionalBatch, Present, Verdict};
use super::statements::{EVICTED, Statements};
use ai_services_core::memory::{LeaseToken, MemoryId};
use ai_services_core::store_kit::failpoint::failpoint;
use ai_services_core::store_kit::time;
use ai_services_core::{Error, ErrorKind, Result};
use scylla::response::PagingState;

/// A commit that may have to be settled.
pub(super) struct Commit<'a> {
    pub(super) id: &'a MemoryId,
    /// The version that it is conditional on.
    pub(super) before: Option<i64>,
    pub(super) lease: Option<LeaseToken>,
    pub(super) token: i64,
    /// The version that it makes.
    pub(super) after: i64,
    /// The number of the first row that it writes.
    pub(super) first: Option<i64>,
}

/// What a serial read tells of a commit in doubt.
enum Settled {
    Applied,
    /// Nothing has changed since before.
    Open,
    /// It was not applied and never will be.
    Superseded(Present),
}

impl CassandraChatMemoryStore {
    /// Writes a commit, once, whatever becomes of the connection.
    pub(super) async fn write(
        &self,
        commit: &Commit<'_>,
        batch: &ConditionalBatch<'_>,
    ) -> Result<Verdict> {
        let mut attempts = self.client().attempts();
        loop {
            failpoint!("cassandra.before_commit");
            let outcome = match self.client().batch("commit a turn", batch).await {
                Ok(Verdict::Applied) => {
                    failpoint!("cassandra.after_commit");
                    return Ok(Verdict::Applied);
                }
                Ok(refused) if attempts.is_first() => return Ok(refused),
                // It may be the first attempt that has made the condition false.
                Ok(refused) => Ok(Some(refused)),
                Err(fault) if !fault.is_transient() => return Err(fault.error),
                Err(fault) => attempts.failed(fault).await.map(|()| None),
            };
            match self.settle(commit).await? {
                Settled::Applied => return Ok(Verdict::Applied),
                Settled::Superseded(present) => return Ok(Verdict::Refused(present)),
                Settled::Open => {
                    if let Some(refused) = outcome? {
                        return Ok(refused);
                    }
                }
            }
        }
    }

    /// What has become of a commit whose answer did not arrive.
    ///
    /// A serial read completes what was begun and sees it. If others have gone on since, the rows that
    /// the commit would have written say who wrote them.
    async fn settle(&self, commit: &Commit<'_>) -> Result<Settled> {
        let statements = self.client().statements().await?;
        let head = self.head(commit.id, &statements.read.latest_head).await?;
        let present = head.map(|head| head.present).unwrap_or_default();
        if head.is_some_and(|head| head.commit_token == Some(commit.token)) {
            return Ok(Settled::Applied);
        }
        if present.version == commit.before {
            return Ok(Settled::Open);
        }
        let Some(first) = commit.first else { return Err(in_doubt(commit.id)) };
        let what = "look for a commit";
        let values = (commit.id.as_str(), first);
        let (rows, _) = self
            .client()
            .page(what, &statements.read.origin, &values, PagingState::start())
            .await?;
        let rows = rows.rows::<(Option<i64>,)>();
        let rows = rows.map_err(|error| Fault::answer(what, error).error)?;
        let writers: Vec<_> = rows.flatten().map(|(writer,)| writer).collect();
        if writers.contains(&Some(commit.token)) {
            return Ok(Settled::Applied);
        }
        // Versions do not come back: whoever wrote this row took the place of the commit.
        match !writers.is_empty() || commit.is_of_another_beginning(present.version) {
            true => Ok(Settled::Superseded(present)),
            false => Err(in_doubt(commit.id)),
        }
    }
}

impl<'a> Commit<'a> {
    /// The condition, and the head after the commit.
    pub(super) fn begin(
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

    /// The condition alone.
    pub(super) fn guard(&self, batch: &mut ConditionalBatch<'a>, statements: &Statements) {
        let (id, before) = (self.id.as_str(), self.before);
        match self.lease_number() {
            None => batch.add(&statements.write.guard, (before, id, before)),
            Some(lease) => {
                batch.add(&statements.write.guard_under_lease, (before, id, before, lease));
            }
        }
    }

    /// Whether a conversation of this version was begun by somebody else: first versions are random, and
    /// later ones come after them.
    fn is_of_another_beginning(&self, version: Option<i64>) -> bool {
        let following = self.after..self.after.saturating_add(1 << 32);
        self.before.is_none() && version.is_some_and(|version| !following.contains(&version))
    }

    /// Copies of rows as history.
    pub(super) fn keep<'b: 'a>(
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
        "the connection broke while the conversation `{id}` was changed, and others have changed it \
         since; load it again to see whether the change was made"
    );
    Error::new(ErrorKind::Conflict, message)
}
