//! Loading conversations, and commits.

use super::journal;
use super::lease::token;
use super::rows::{RawField, RawRow, corrupt_head, head, member, number, rows};
use super::scripts::COMMIT;
use super::{Inner, RedisChatMemoryStore};
use ai_services_core::memory::{
    Change, CommitState, EvictedMessages, JournalPosition, LeaseToken, MemoryId, RequestId,
};
use ai_services_core::store_kit::cache::{
    KnownConversation, LoadedConversation, StoredConversation, StoredRows,
};
use ai_services_core::store_kit::commits::{CommitLog, MAX_LOG_BYTES, PendingCommit, Settled};
use ai_services_core::store_kit::failpoint::failpoint;
use ai_services_core::store_kit::limits::check_id;
use ai_services_core::store_kit::plan::{self, CommitPlan, EvictedRows};
use ai_services_core::store_kit::time;
use ai_services_core::store_kit::{conflict, journal_moved, lease_lost, random};
use ai_services_core::{Error, ErrorKind, Result};
use redis::{Pipeline, ScriptInvocation, ToRedisArgs};
use std::ops::Range;
use std::time::Duration;
use tokio::time::sleep;

/// Maximum number of attempts for a change without an expected version.
const ATTEMPTS: u32 = 64;

/// Increment of the maximum pause before the next attempt, which grows up to 20 times this value.
const PAUSE: Duration = Duration::from_millis(2);

/// The parts of a commit that are the same for every plan.
struct Commit<'a> {
    id: &'a MemoryId,
    lease: Option<LeaseToken>,
    /// Position of the journal that the commit closes.
    closed: Option<JournalPosition>,
    /// Identifies the commit if it is sent again.
    pending: PendingCommit,
}

/// A whole conversation.
struct Stored {
    head: Option<plan::ConversationHead>,
    log: CommitLog,
    rows: Vec<RawRow>,
    /// Position of the open journal.
    journal: Option<JournalPosition>,
}

/// The stored state that a plan is made for.
struct Planned {
    version: u64,
    log: CommitLog,
    plan: Option<CommitPlan>,
}

impl RedisChatMemoryStore {
    /// Reads and decodes what a load needs besides the known state.
    pub(super) async fn read_since(
        &self,
        id: &MemoryId,
        known: Option<&KnownConversation>,
    ) -> Result<LoadedConversation> {
        let Some(first) = known.and_then(KnownConversation::first_row) else {
            let Stored { head, log: commits, rows: stored, journal } = self.read(id).await?;
            let rows = StoredRows::All(rows(id, stored)?);
            let stored = StoredConversation { head, commits, rows };
            return Ok(stored.decode(id, known)?.with_journal(journal));
        };
        let keys = self.0.keys.of(id);
        let read = self.read_consistently("load a conversation", id, |pipeline| {
            add_head_query(pipeline, &keys.head);
            journal::add_position_query(pipeline, &keys.journal);
            pipeline.cmd("ZCARD").arg(&keys.messages);
            pipeline.cmd("ZRANGE").arg(&keys.messages).arg(0).arg(1).arg("WITHSCORES");
            pipeline.cmd("ZRANGEBYSCORE").arg(&keys.messages).arg(first).arg("+inf");
            pipeline.arg("WITHSCORES");
        });
        let (fields, position, count, oldest, newest): RawConversation = read.await?;
        let (head, commits) = parse_head(id, fields)?;
        // The head counts other messages than there are: read and report them all.
        let known = known.filter(|_| head.is_some_and(|head| head.messages == count));
        let oldest = rows(id, oldest)?.into_iter().map(|(number, _)| number).collect();
        let rows = StoredRows::Since { oldest, rows: rows(id, newest)? };
        let stored = StoredConversation { head, commits, rows };
        Ok(stored.decode(id, known)?.with_journal(journal::position(position)))
    }

    pub(super) async fn change(&self, id: &MemoryId, change: &Change) -> Result<()> {
        check_id(id)?;
        let pending = PendingCommit::new(id, change);
        let (lease, closed) = (change.lease(), change.closed_journal());
        let commit = Commit { id, lease, closed, pending };
        let outcome = self.attempt(&commit, change).await;
        outcome.map_err(|error| commit.pending.fail(error))
    }

    /// Attempts the change until it is applied or fails for good.
    async fn attempt(&self, commit: &Commit<'_>, change: &Change) -> Result<()> {
        let id = commit.id;
        if let Some(version) = change.expected_version()
            && let Some(plan) = CommitPlan::for_advance(id, version, change)?
        {
            return match self.apply(commit, version, &plan).await? {
                Settled::Applied => Ok(()),
                Settled::NotApplied => Err(conflict(id)),
            };
        }
        for attempt in 1..=ATTEMPTS {
            let Planned { version, log, plan } = self.plan(id, change).await?;
            // The last attempt may have been applied, and is found only in a recent log.
            if commit.pending.settle(version, &log)? == Settled::Applied {
                return Ok(());
            }
            if change.expected_version().is_some_and(|expected| expected != version) {
                break;
            }
            let Some(plan) = plan else {
                let message = "a change is neither an advance nor a replacement";
                return Err(Error::new(ErrorKind::Store, message));
            };
            if self.apply(commit, version, &plan).await? == Settled::Applied {
                return Ok(());
            }
            if change.expected_version().is_some() {
                break;
            }
            sleep((PAUSE * attempt.min(20)).mul_f64((random() % 1024) as f64 / 1024.0)).await;
        }
        Err(conflict(id))
    }

    /// Plans a change that depends on the stored head or rows.
    async fn plan(&self, id: &MemoryId, change: &Change) -> Result<Planned> {
        if change.is_replacement() {
            let Stored { head, log, rows: stored, .. } = self.read(id).await?;
            let plan = CommitPlan::for_replacement(id, head, &rows(id, stored)?, change)?;
            return Ok(Planned { version: version(head), log, plan: Some(plan) });
        }
        let mut pipeline = redis::pipe();
        add_head_query(&mut pipeline, self.0.keys.of(id).head);
        let request = self.0.connections.request("read a conversation", pipeline);
        let (fields,): (RawHead,) = request.await?;
        let (head, log) = parse_head(id, fields)?;
        let plan = CommitPlan::for_advance(id, version(head), change)?;
        Ok(Planned { version: version(head), log, plan })
    }

    /// Reads the whole conversation.
    async fn read(&self, id: &MemoryId) -> Result<Stored> {
        let keys = self.0.keys.of(id);
        let read = self.read_consistently("load a conversation", id, |pipeline| {
            add_head_query(pipeline, &keys.head);
            journal::add_position_query(pipeline, &keys.journal);
            pipeline.cmd("ZRANGE").arg(&keys.messages).arg(0).arg(-1).arg("WITHSCORES");
        });
        let (fields, position, rows): (RawHead, _, _) = read.await?;
        let (head, log) = parse_head(id, fields)?;
        Ok(Stored { head, log, rows, journal: journal::position(position) })
    }

    pub(super) async fn state_of_commit(
        &self,
        id: &MemoryId,
        request: &RequestId,
    ) -> Result<CommitState> {
        check_id(id)?;
        let mut pipeline = redis::pipe();
        pipeline.cmd("HGET").arg(self.0.keys.of(id).head).arg("commits");
        let found = self.0.connections.request("look for a commit", pipeline);
        let (log,): (RawField,) = found.await?;
        Ok(CommitLog::new(log.unwrap_or_default()).state_of(request))
    }

    /// Runs the commit script. Returns [`Settled::NotApplied`] if the head does not have the version.
    async fn apply(&self, commit: &Commit<'_>, version: u64, plan: &CommitPlan) -> Result<Settled> {
        let script = self.0.invocation(commit, version, plan);
        failpoint!("redis.before_commit");
        let lose_answer = || commit.pending.lose_answer(version);
        let action = "commit to a conversation";
        let request = self.0.connections.request_noting_losses(action, script, lose_answer);
        let answer: Vec<Vec<u8>> = request.await?;
        failpoint!("redis.after_commit");
        parse_outcome(commit, version, &answer)
    }
}

/// The fields of a head that a commit depends on: version, number of messages, log of commits.
type RawHead = (RawField, RawField, RawField);

/// Head, position of the journal, number of messages, the two oldest rows, and the newest rows.
type RawConversation = (RawHead, RawField, u64, Vec<RawRow>, Vec<RawRow>);

fn add_head_query(pipeline: &mut Pipeline, key: impl ToRedisArgs) {
    pipeline.cmd("HMGET").arg(key).arg("version").arg("messages").arg("commits");
}

fn parse_head(
    id: &MemoryId,
    (version, messages, log): RawHead,
) -> Result<(Option<plan::ConversationHead>, CommitLog)> {
    let log = CommitLog::new(log.unwrap_or_default());
    Ok((head(id, &version, &messages)?, log))
}

fn version(head: Option<plan::ConversationHead>) -> u64 {
    head.map_or(0, |head| head.version)
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
        script.key(keys.journal);
        script.key(&self.keys.ids).key(&self.keys.used).key(&self.keys.journals);
        script.arg(commit.id.as_str()).arg(version).arg(plan.version);
        script.arg(commit.pending.entry(version).as_slice()).arg(MAX_LOG_BYTES);
        script.arg(time::now()).arg(commit.lease.map(token).unwrap_or_default());
        script.arg(self.time_to_live.map(|millis| millis.to_string()).unwrap_or_default());
        script.arg(commit.closed.map(|position| position.to_string()).unwrap_or_default());
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
fn parse_outcome(commit: &Commit<'_>, version: u64, answer: &[Vec<u8>]) -> Result<Settled> {
    let (id, pending) = (commit.id, &commit.pending);
    if let [word, found, log] = answer
        && word == b"refused"
    {
        return match number(found) {
            Some(found) => pending.settle(found, &CommitLog::new(log.as_slice())),
            None => Err(corrupt_head(id, "its field `version` is not a number").into()),
        };
    }
    // Lossy, because quoted values may be damaged.
    let answer: Vec<_> = answer.iter().map(|part| String::from_utf8_lossy(part)).collect();
    let answer: Vec<_> = answer.iter().map(|part| &**part).collect();
    match *answer.as_slice() {
        ["applied"] => Ok(Settled::Applied),
        ["lease"] => Err(lease_lost(id)),
        ["journal"] => Err(journal_moved(id)),
        ["headless"] => Err(corrupt_head(id, "it is missing").into()),
        ["count", expected, count] => {
            let reason = format_args!("it counts {expected} messages, but there are {count}");
            Err(corrupt_head(id, reason).into())
        }
        ["newer", _] => {
            let reason = format_args!("its version {version} does not match the messages");
            Err(corrupt_head(id, reason).into())
        }
        _ => {
            pending.lose_answer(version);
            Err(Error::new(ErrorKind::Store, "the commit script returned an unknown answer"))
        }
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
    fn unknown_answer_is_an_unknown_outcome() {
        let id = MemoryId::from("klaus");
        let pending = PendingCommit::new(&id, &Change::advance(Some(1), 0..0, Vec::new()));
        let commit = Commit { id: &id, lease: None, closed: None, pending };
        let error = parse_outcome(&commit, 1, &[b"applause".to_vec()]).unwrap_err();
        assert_eq!(commit.pending.fail(error).kind(), ErrorKind::UnknownOutcome);
    }

    #[test]
    fn range_of_ranks_is_inclusive() {
        assert_eq!(ranges(&EvictedRows::Positions(1..3)), ("rank", vec![(1, 2)]));
        assert_eq!(ranges(&EvictedRows::Positions(3..3)), ("rank", vec![]));
        let all = ranges(&EvictedRows::Positions(0..usize::MAX));
        assert_eq!(all, ("rank", vec![(0, i64::MAX as u64)]));
    }
}
