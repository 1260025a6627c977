//! Loading conversations, and commits.

use super::rows::{RawField, RawRow, corrupt_head, head, member, number, rows};
use super::scripts::COMMIT;
use super::{Inner, RedisChatMemoryStore};
use ai_services_core::memory::{Change, EvictedMessages, LeaseToken, MemoryId, Snapshot};
use ai_services_core::store_kit::failpoint::failpoint;
use ai_services_core::store_kit::limits::check_id;
use ai_services_core::store_kit::plan::{self, CommitPlan, EvictedRows};
use ai_services_core::store_kit::time;
use ai_services_core::store_kit::{conflict, lease_lost, random};
use ai_services_core::{Error, ErrorKind, Result};
use redis::ScriptInvocation;
use std::ops::Range;
use std::time::Duration;
use tokio::time::sleep;

/// Maximum number of attempts for a change without an expected version.
const ATTEMPTS: u32 = 64;

/// Increment of the maximum pause before the next attempt, which grows up to 20 times this value.
const PAUSE: Duration = Duration::from_millis(2);

/// The outcome of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CommitOutcome {
    Applied,
    /// The head did not have the version of the plan.
    Outdated,
}

/// The parts of a commit that are the same for every plan.
struct Commit<'a> {
    id: &'a MemoryId,
    lease: Option<LeaseToken>,
    /// Idempotency key: identifies the commit if it is sent again.
    token: String,
}

impl RedisChatMemoryStore {
    pub(super) async fn snapshot(&self, id: &MemoryId) -> Result<Snapshot> {
        let (head, stored) = self.read(id).await?;
        plan::snapshot(id, head, &rows(id, stored)?)
    }

    pub(super) async fn change(&self, id: &MemoryId, change: &Change) -> Result<()> {
        check_id(id)?;
        let commit = Commit { id, lease: change.lease(), token: format!("{:016x}", random()) };
        if let Some(version) = change.expected_version()
            && let Some(plan) = CommitPlan::for_advance(id, version, change)?
        {
            return match self.apply(&commit, version, &plan).await? {
                CommitOutcome::Applied => Ok(()),
                CommitOutcome::Outdated => Err(conflict(id)),
            };
        }
        for attempt in 1..=ATTEMPTS {
            let (version, plan) = self.plan(id, change).await?;
            if self.apply(&commit, version, &plan).await? == CommitOutcome::Applied {
                return Ok(());
            }
            if change.expected_version().is_some() {
                break;
            }
            sleep((PAUSE * attempt.min(20)).mul_f64((random() % 1024) as f64 / 1024.0)).await;
        }
        Err(conflict(id))
    }

    /// Plans a change that depends on the stored head or rows. Returns the current version, too.
    async fn plan(&self, id: &MemoryId, change: &Change) -> Result<(u64, CommitPlan)> {
        let (version, plan) = if change.is_replacement() {
            let (head, stored) = self.read(id).await?;
            let plan = CommitPlan::for_replacement(id, head, &rows(id, stored)?, change)?;
            (head.map_or(0, |head| head.version), Some(plan))
        } else {
            let mut pipeline = redis::pipe();
            pipeline.cmd("HMGET").arg(self.0.keys.of(id).head).arg("version").arg("messages");
            let request = self.0.connections.request("read a conversation", pipeline);
            let ((version, messages),): ((RawField, RawField),) = request.await?;
            let version = head(id, &version, &messages)?.map_or(0, |head| head.version);
            (version, CommitPlan::for_advance(id, version, change)?)
        };
        if change.expected_version().is_some_and(|expected| expected != version) {
            return Err(conflict(id));
        }
        match plan {
            Some(plan) => Ok((version, plan)),
            None => {
                let message = "a change is neither an advance nor a replacement";
                Err(Error::new(ErrorKind::Store, message))
            }
        }
    }

    /// Reads the head and the rows in one transaction.
    async fn read(&self, id: &MemoryId) -> Result<(Option<plan::ConversationHead>, Vec<RawRow>)> {
        let keys = self.0.keys.of(id);
        let mut pipeline = redis::pipe();
        pipeline.atomic();
        pipeline.cmd("HMGET").arg(keys.head).arg("version").arg("messages");
        pipeline.cmd("ZRANGE").arg(keys.messages).arg(0).arg(-1).arg("WITHSCORES");
        let request = self.0.connections.request("load a conversation", pipeline);
        let ((version, messages), rows): ((RawField, RawField), _) = request.await?;
        Ok((head(id, &version, &messages)?, rows))
    }

    /// Runs the commit script.
    async fn apply(
        &self,
        commit: &Commit<'_>,
        version: u64,
        plan: &CommitPlan,
    ) -> Result<CommitOutcome> {
        let script = self.0.invocation(commit, version, plan);
        failpoint!("redis.before_commit");
        let answer: Vec<Vec<u8>> =
            self.0.connections.request("commit to a conversation", script).await?;
        failpoint!("redis.after_commit");
        parse_outcome(commit.id, version, &answer)
    }
}

impl Inner {
    fn invocation(
        &self,
        commit: &Commit<'_>,
        version: u64,
        plan: &CommitPlan,
    ) -> ScriptInvocation<'static> {
        let keys = self.keys.of(commit.id);
        let mut script = COMMIT.prepare_invoke();
        script.key(keys.head).key(keys.messages).key(keys.history).key(keys.lease);
        script.key(&self.keys.ids).key(&self.keys.used);
        script.arg(commit.id.as_str()).arg(version).arg(plan.version).arg(&commit.token);
        script.arg(time::now()).arg(commit.lease.map(token).unwrap_or_default());
        script.arg(self.time_to_live.map(|millis| millis.to_string()).unwrap_or_default());
        script.arg(u8::from(self.evicted_messages == EvictedMessages::Keep));
        let (by, ranges) = ranges(&plan.evicted);
        script.arg(by).arg(ranges.len());
        for (first, last) in ranges {
            script.arg(first).arg(last);
        }
        for (number, record) in &plan.rows {
            script.arg(*number).arg(member(*number, record));
        }
        script
    }
}

/// Returns the stored form of a lease token.
pub(super) fn token(lease: LeaseToken) -> String {
    format!("{:016x}", lease.get())
}

/// Returns the evicted rows as inclusive ranges of ranks or of scores.
fn ranges(evict: &EvictedRows) -> (&'static str, Vec<(u64, u64)>) {
    match evict {
        EvictedRows::Positions(Range { start, end }) if start < end => {
            // The server uses signed integers.
            let last = (*end as u64 - 1).min(i64::MAX as u64);
            ("rank", vec![(*start as u64, last)])
        }
        EvictedRows::Positions(_) => ("rank", Vec::new()),
        EvictedRows::Numbers(numbers) => {
            let mut ranges: Vec<(u64, u64)> = Vec::new();
            for number in numbers {
                match ranges.last_mut() {
                    Some((_, last)) if *last + 1 == *number => *last = *number,
                    _ => ranges.push((*number, *number)),
                }
            }
            ("score", ranges)
        }
    }
}

/// Interprets the answer of the commit script.
fn parse_outcome(id: &MemoryId, version: u64, answer: &[Vec<u8>]) -> Result<CommitOutcome> {
    // Lossy, because quoted values may be damaged.
    let answer: Vec<_> = answer.iter().map(|part| String::from_utf8_lossy(part)).collect();
    let answer: Vec<_> = answer.iter().map(|part| &**part).collect();
    match *answer.as_slice() {
        ["applied"] => Ok(CommitOutcome::Applied),
        ["version", found] if number(found.as_bytes()).is_some() => Ok(CommitOutcome::Outdated),
        ["version", _] => Err(corrupt_head(id, "its field `version` is not a number").into()),
        ["lease"] => Err(lease_lost(id)),
        ["headless"] => Err(corrupt_head(id, "it is missing").into()),
        ["count", expected, count] => {
            let reason = format_args!("it counts {expected} messages, but there are {count}");
            Err(corrupt_head(id, reason).into())
        }
        ["newer", _] => {
            let reason = format_args!("its version {version} does not match the messages");
            Err(corrupt_head(id, reason).into())
        }
        _ => Err(Error::new(ErrorKind::Store, "the commit script returned an unknown answer")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adjacent_numbers_become_one_range() {
        let evict = EvictedRows::Numbers(vec![3, 4, 5, 9, 11]);
        assert_eq!(ranges(&evict), ("score", vec![(3, 5), (9, 9), (11, 11)]));
    }

    #[test]
    fn range_of_ranks_is_inclusive() {
        assert_eq!(ranges(&EvictedRows::Positions(1..3)), ("rank", vec![(1, 2)]));
        assert_eq!(ranges(&EvictedRows::Positions(3..3)), ("rank", vec![]));
        let all = ranges(&EvictedRows::Positions(0..usize::MAX));
        assert_eq!(all, ("rank", vec![(0, i64::MAX as u64)]));
    }
}
