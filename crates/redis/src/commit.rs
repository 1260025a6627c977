//! One change of one conversation.

use super::rows::{RawField, RawRow, corrupt_head, head, member, number, rows};
use super::scripts::COMMIT;
use super::{RedisChatMemoryStore, Shared};
use ai_services_core::memory::{
    Change, EvictedMessages, LeaseToken, MemoryId, Snapshot, conflict, lease_lost, random,
};
use ai_services_core::store_kit::failpoint::failpoint;
use ai_services_core::store_kit::limits::check_id;
use ai_services_core::store_kit::plan::{self, Evict, Plan};
use ai_services_core::store_kit::time;
use ai_services_core::{Error, ErrorKind, Result};
use redis::ScriptInvocation;
use std::ops::Range;
use std::time::Duration;
use tokio::time::sleep;

/// How often a change is planned anew that is made whatever the version is.
const ATTEMPTS: u32 = 64;

/// The longest pause before the next plan grows by this much each time, up to twenty times as much.
const PAUSE: Duration = Duration::from_millis(2);

/// Whether the head still had the version of the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Applied,
    Outdated,
}

/// What a commit brings along, whatever the plan is.
struct Frame<'a> {
    id: &'a MemoryId,
    lease: Option<LeaseToken>,
    /// By which the commit knows itself again.
    token: String,
}

impl RedisChatMemoryStore {
    pub(super) async fn snapshot(&self, id: &MemoryId) -> Result<Snapshot> {
        let (head, stored) = self.read(id).await?;
        plan::snapshot(id, head, &rows(id, stored)?)
    }

    pub(super) async fn change(&self, id: &MemoryId, change: &Change) -> Result<()> {
        check_id(id)?;
        let frame = Frame { id, lease: change.lease(), token: format!("{:016x}", random()) };
        if let Some(version) = change.expected_version()
            && let Some(plan) = Plan::advancing(id, version, change)?
        {
            return match self.apply(&frame, version, &plan).await? {
                Outcome::Applied => Ok(()),
                Outcome::Outdated => Err(conflict(id)),
            };
        }
        for attempt in 1..=ATTEMPTS {
            let (version, plan) = self.plan(id, change).await?;
            if self.apply(&frame, version, &plan).await? == Outcome::Applied {
                return Ok(());
            }
            if change.expected_version().is_some() {
                break;
            }
            sleep((PAUSE * attempt.min(20)).mul_f64((random() % 1024) as f64 / 1024.0)).await;
        }
        Err(conflict(id))
    }

    /// The plan for a change that needs to know what is stored.
    async fn plan(&self, id: &MemoryId, change: &Change) -> Result<(u64, Plan)> {
        let (version, plan) = if change.is_replacement() {
            let (head, stored) = self.read(id).await?;
            let plan = Plan::replacing(id, head, &rows(id, stored)?, change)?;
            (head.map_or(0, |head| head.version), Some(plan))
        } else {
            let mut pipeline = redis::pipe();
            pipeline.cmd("HMGET").arg(self.0.keys.of(id).head).arg("version").arg("messages");
            let ask = self.0.connections.ask("read a conversation", pipeline);
            let ((version, messages),): ((RawField, RawField),) = ask.await?;
            let version = head(id, &version, &messages)?.map_or(0, |head| head.version);
            (version, Plan::advancing(id, version, change)?)
        };
        if change.expected_version().is_some_and(|expected| expected != version) {
            return Err(conflict(id));
        }
        match plan {
            Some(plan) => Ok((version, plan)),
            None => Err(Error::new(ErrorKind::Store, "a change is neither of both kinds")),
        }
    }

    /// Head and rows as they were at one moment.
    async fn read(&self, id: &MemoryId) -> Result<(Option<plan::Head>, Vec<RawRow>)> {
        let keys = self.0.keys.of(id);
        let mut pipeline = redis::pipe();
        pipeline.atomic();
        pipeline.cmd("HMGET").arg(keys.head).arg("version").arg("messages");
        pipeline.cmd("ZRANGE").arg(keys.messages).arg(0).arg(-1).arg("WITHSCORES");
        let ask = self.0.connections.ask("load a conversation", pipeline);
        let ((version, messages), rows): ((RawField, RawField), _) = ask.await?;
        Ok((head(id, &version, &messages)?, rows))
    }

    async fn apply(&self, frame: &Frame<'_>, version: u64, plan: &Plan) -> Result<Outcome> {
        let script = self.0.invocation(frame, version, plan);
        failpoint!("redis.before_commit");
        let answer: Vec<Vec<u8>> =
            self.0.connections.ask("commit to a conversation", script).await?;
        failpoint!("redis.after_commit");
        outcome(frame.id, version, &answer)
    }
}

impl Shared {
    fn invocation(
        &self,
        frame: &Frame<'_>,
        version: u64,
        plan: &Plan,
    ) -> ScriptInvocation<'static> {
        let keys = self.keys.of(frame.id);
        let mut script = COMMIT.prepare_invoke();
        script.key(keys.head).key(keys.messages).key(keys.history).key(keys.lease);
        script.key(&self.keys.ids).key(&self.keys.used);
        script.arg(frame.id.as_str()).arg(version).arg(plan.version).arg(&frame.token);
        script.arg(time::now()).arg(frame.lease.map(token).unwrap_or_default());
        script.arg(self.time_to_live.map(|millis| millis.to_string()).unwrap_or_default());
        script.arg(u8::from(self.evicted_messages == EvictedMessages::Keep));
        let (by, ranges) = ranges(&plan.evict);
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

/// A lease as it is stored.
pub(super) fn token(lease: LeaseToken) -> String {
    format!("{:016x}", lease.get())
}

/// What is evicted, as ranges of ranks or of scores, both ends included.
fn ranges(evict: &Evict) -> (&'static str, Vec<(u64, u64)>) {
    match evict {
        Evict::Positions(Range { start, end }) if start < end => {
            // What a server counts with is signed.
            let last = (*end as u64 - 1).min(i64::MAX as u64);
            ("rank", vec![(*start as u64, last)])
        }
        Evict::Positions(_) => ("rank", Vec::new()),
        Evict::Numbers(numbers) => {
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

fn outcome(id: &MemoryId, version: u64, answer: &[Vec<u8>]) -> Result<Outcome> {
    // Lossy: what is quoted may be damaged.
    let answer: Vec<_> = answer.iter().map(|part| String::from_utf8_lossy(part)).collect();
    let answer: Vec<_> = answer.iter().map(|part| &**part).collect();
    match *answer.as_slice() {
        ["applied"] => Ok(Outcome::Applied),
        ["version", found] if number(found.as_bytes()).is_some() => Ok(Outcome::Outdated),
        ["version", _] => Err(corrupt_head(id, "its field `version` is not a number").into()),
        ["lease"] => Err(lease_lost(id)),
        ["headless"] => Err(corrupt_head(id, "it is missing").into()),
        ["count", promised, count] => {
            let reason = format_args!("it promises {promised} messages, but there are {count}");
            Err(corrupt_head(id, reason).into())
        }
        ["newer", _] => {
            let reason = format_args!("its version {version} does not fit the messages");
            Err(corrupt_head(id, reason).into())
        }
        _ => Err(Error::new(ErrorKind::Store, "the commit script gave an unknown answer")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_evicted_together() {
        let evict = Evict::Numbers(vec![3, 4, 5, 9, 11]);
        assert_eq!(ranges(&evict), ("score", vec![(3, 5), (9, 9), (11, 11)]));
    }

    #[test]
    fn range_ends_with_its_last() {
        assert_eq!(ranges(&Evict::Positions(1..3)), ("rank", vec![(1, 2)]));
        assert_eq!(ranges(&Evict::Positions(3..3)), ("rank", vec![]));
        let all = ranges(&Evict::Positions(0..usize::MAX));
        assert_eq!(all, ("rank", vec![(0, i64::MAX as u64)]));
    }
}
