//! Writing conversations.
//!
//! A commit reads what it needs to know, the head and the rows that are evicted, and then writes all in
//! one lightweight transaction that is conditional on the version that was read. What was read may
//! be old; then the condition does not hold.

use super::CassandraChatMemoryStore;
use super::eviction::Eviction;
use super::rows::{MemoryRow, NumberRow, Raw, Stored, StoredMessage, bigint, token};
use super::session::Verdict;
use super::statements::{MESSAGE, Statements};
use super::write::Commit;
use ai_services_core::memory::{
    Change, EvictedMessages, MemoryId, UnreadableRecord, conflict, lease_lost, random,
};
use ai_services_core::store_kit::failpoint::failpoint;
use ai_services_core::store_kit::limits;
use ai_services_core::store_kit::plan::{Head, Plan};
use ai_services_core::{Error, ErrorKind, Result};

/// How often a change that expects no version is made anew because others came first. Each time one
/// of them has gone ahead, but not always another one.
const CONFLICTS: u32 = 40;

/// What is evicted and kept goes ahead of a commit in portions of this size, if all together would be
/// larger: a request has at most 16 MiB.
const PORTION: usize = 4 << 20;

/// What a batch says beside the record of a row.
const OVERHEAD: usize = 64;

impl CassandraChatMemoryStore {
    pub(super) async fn commit_change(&self, id: &MemoryId, change: &Change) -> Result<()> {
        limits::check_id(id)?;
        for number in 0..CONFLICTS {
            let present = match self.attempt(id, change).await? {
                Verdict::Applied => return Ok(()),
                Verdict::Refused(present) => present,
            };
            let version = present.version.and_then(|version| u64::try_from(version).ok());
            let is_stale = change.expected_version().is_some_and(|it| it != version.unwrap_or(0));
            if is_stale {
                return Err(conflict(id));
            }
            if change.lease().is_some_and(|lease| present.lease != Some(token(lease.get()))) {
                return Err(lease_lost(id));
            }
            // Somebody else came first. Whoever expects a version was told above, unless the
            // conversation was at that version a moment later.
            pause_between(number).await;
        }
        Err(conflict(id))
    }

    /// Makes the change once, on what is stored now.
    async fn attempt(&self, id: &MemoryId, change: &Change) -> Result<Verdict> {
        let statements = self.client().statements().await?;
        let (stored, plan) = self.planned(id, change, statements).await?;
        let version = stored.head.map(|head| head.version);
        if change.expected_version().is_some_and(|it| it != version.unwrap_or(0)) {
            return Err(conflict(id));
        }
        let eviction = Eviction::new(&plan.evict, &stored.messages);
        let messages = count(id, stored.head, &eviction, plan.rows.len())?;
        let commit = Commit {
            id,
            before: version.map(bigint),
            lease: change.lease(),
            token: token(random()),
            after: bigint(plan.version),
            first: plan.rows.first().map(|(number, _)| bigint(*number)),
        };
        let moved: &[_] = match self.evicted_messages() {
            EvictedMessages::Keep => &eviction.messages,
            EvictedMessages::Forget => &[],
        };
        let size = |record: &[u8]| record.len() + id.as_str().len() + OVERHEAD;
        let appended: usize = plan.rows.iter().map(|(_, record)| size(record.as_bytes())).sum();
        let kept: usize = moved.iter().map(|message| size(&message.record.0)).sum();
        let mut batch = self.client().new_batch();
        commit.begin(&mut batch, statements, messages);
        if kept == 0 || appended + kept <= PORTION {
            commit.keep(&mut batch, statements, moved);
        } else if let Verdict::Refused(present) = self.keep_ahead(&commit, moved).await? {
            return Ok(Verdict::Refused(present));
        }
        for range in &eviction.ranges {
            batch.add(&statements.write.evict, (id.as_str(), range.0, range.1));
        }
        for (number, record) in &plan.rows {
            let row = (id.as_str(), MESSAGE, bigint(*number), record.as_str(), commit.token);
            batch.add(&statements.write.insert, row);
        }
        self.write(&commit, &batch).await
    }

    /// What has to be written, and what is stored of that which it depends on.
    async fn planned(
        &self,
        id: &MemoryId,
        change: &Change,
        statements: &Statements,
    ) -> Result<(Stored, Plan)> {
        let Some(evicted) = change.evicted() else {
            let stored = self.stored::<MemoryRow>(id, &statements.read.rows, None).await?;
            let rows: Vec<(u64, &Raw)> =
                stored.messages.iter().map(|message| (message.number, &message.record)).collect();
            let plan = Plan::replacing(id, stored.head, &rows, change)?;
            return Ok((stored, plan));
        };
        let needed = if evicted.is_empty() { 0 } else { evicted.end };
        let stored = match self.evicted_messages() {
            EvictedMessages::Keep if needed > 0 => {
                self.stored::<MemoryRow>(id, &statements.read.rows, Some(needed)).await?
            }
            _ => self.stored::<NumberRow>(id, &statements.read.numbers, Some(needed)).await?,
        };
        let (head, found) = (stored.head.map_or(0, |head| head.messages), stored.messages.len());
        if found < needed && found as u64 != head {
            let reason = format!("it promises {head} messages, but there are {found}");
            return Err(UnreadableRecord::corrupt(id, "the head", reason).into());
        }
        let version = stored.head.map_or(0, |head| head.version);
        match Plan::advancing(id, version, change)? {
            Some(plan) => Ok((stored, plan)),
            None => Err(Error::new(ErrorKind::Store, "a change replaces and evicts")),
        }
    }

    /// Copies evicted rows into the history before they leave the memory. Until then they are found in
    /// both, and are in memory.
    async fn keep_ahead(&self, commit: &Commit<'_>, moved: &[&StoredMessage]) -> Result<Verdict> {
        let statements = self.client().statements().await?;
        let mut rest = moved;
        while !rest.is_empty() {
            let mut bytes = 0;
            let fits = rest.iter().take_while(|message| {
                bytes += message.record.0.len();
                bytes <= PORTION
            });
            let (portion, others) = rest.split_at(fits.count().clamp(1, rest.len()));
            let mut batch = self.client().new_batch();
            commit.guard(&mut batch, statements);
            commit.keep(&mut batch, statements, portion);
            let client = self.client();
            // Doing it twice is doing it once.
            let verdict = client.retried(|| client.batch("keep messages", &batch)).await?;
            if let Verdict::Refused(_) = verdict {
                return Ok(verdict);
            }
            failpoint!("cassandra.after_portion");
            rest = others;
        }
        Ok(Verdict::Applied)
    }
}

/// The number of messages after a commit.
fn count(
    id: &MemoryId,
    head: Option<Head>,
    eviction: &Eviction<'_>,
    appended: usize,
) -> Result<i64> {
    let before = head.map_or(0, |head| head.messages);
    let kept = before.checked_sub(eviction.messages.len() as u64);
    let after = kept.and_then(|kept| kept.checked_add(appended as u64));
    after.map(bigint).ok_or_else(|| {
        let reason = format!("it promises {before} messages, but there are more");
        UnreadableRecord::corrupt(id, "the head", reason).into()
    })
}

/// A moment in which whoever came first can finish, longer each time.
async fn pause_between(number: u32) {
    let longest = 4_u64 << number.min(5);
    tokio::time::sleep(std::time::Duration::from_millis(random() % longest)).await;
}
