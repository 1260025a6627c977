//! Checks of leases, which serialize the turns of a conversation.

use super::case::{Case, CheckResult, Stop, ensure, numbered, rejected};
use ai_services_core::ErrorKind;
use ai_services_core::memory::{Change, ConversationLeases, LeaseToken, MemoryId};
use futures_util::future::{join, join_all};
use std::time::Duration;
use tokio::time::sleep;

super::checks![
    lease_is_exclusive,
    only_the_holder_releases_a_lease,
    lease_blocks_only_other_leases,
    commit_releases_the_lease,
    commit_with_a_lost_lease_is_rejected,
    stale_commit_keeps_the_lease,
    lease_expires,
];

/// Maximum lease duration for which the checks wait.
const MAX_DURATION: Duration = Duration::from_secs(3);

/// Checks whether `token` acquires the lease as expected.
async fn acquire(
    leases: &dyn ConversationLeases,
    id: &MemoryId,
    token: LeaseToken,
    expected: bool,
) -> CheckResult {
    let is_acquired = leases.acquire(id, token).await?;
    ensure(is_acquired == expected, || {
        if is_acquired {
            "a lease is granted to a second holder".into()
        } else {
            "a lease is not granted although it is free or has the same holder".into()
        }
    })
}

async fn lease_is_exclusive(case: &Case<'_>) -> CheckResult {
    const RACERS: usize = 8;
    let (first, second) = case.leases()?;
    for (name, messages) in [("known", 2), ("unknown", 0)] {
        let id = &case.id(name);
        if messages > 0 {
            case.update(id, &numbered("message", messages)).await?;
        }
        let tokens: Vec<_> = (0..RACERS).map(|_| LeaseToken::new()).collect();
        let attempts = tokens.iter().zip([first, second].into_iter().cycle());
        let attempts = attempts.map(|(token, leases)| leases.acquire(id, *token));
        let mut holders = Vec::new();
        for (token, is_acquired) in tokens.iter().zip(join_all(attempts).await) {
            holders.extend(is_acquired?.then_some(*token));
        }
        let [holder] = *holders else {
            return Err(Stop::Failed(format!(
                "{} of {RACERS} concurrent calls acquired the lease, expected 1",
                holders.len()
            )));
        };
        for leases in [first, second] {
            acquire(leases, id, holder, true).await?;
            acquire(leases, id, LeaseToken::new(), false).await?;
        }
        first.release(id, holder).await?;
    }
    Ok(())
}

async fn only_the_holder_releases_a_lease(case: &Case<'_>) -> CheckResult {
    let (first, second) = case.leases()?;
    let (id, unknown) = (case.id("a"), case.id("unknown"));
    let (holder, other) = (LeaseToken::new(), LeaseToken::new());
    first.release(&unknown, other).await?;
    acquire(first, &id, holder, true).await?;
    second.release(&id, other).await?;
    acquire(second, &id, other, false).await?;
    second.release(&id, holder).await?;
    acquire(second, &id, other, true).await?;
    first.release(&id, holder).await?;
    acquire(first, &id, holder, false).await?;
    second.release(&id, other).await?;
    Ok(())
}

async fn lease_blocks_only_other_leases(case: &Case<'_>) -> CheckResult {
    let (first, second) = case.leases()?;
    let (id, other) = (case.id("a"), case.id("b"));
    let version = case.store().load(&id).await?.version();
    acquire(first, &id, LeaseToken::new(), true).await?;
    let leased = case.store().load(&id).await?.version();
    ensure(leased == version, || "a lease changes the version".into())?;
    if let Ok(store) = case.conversations() {
        let known = store.conversation(&id).await?;
        ensure(known.is_none_or(|known| known.messages == 0), || {
            "a lease counts as a message".into()
        })?;
    }
    acquire(second, &other, LeaseToken::new(), true).await?;
    // Reads, and changes without a lease, are not blocked.
    case.expect(&id, &[]).await?;
    case.commit(&id, Change::advance(version, 0..0, numbered("first", 1))).await?;
    case.update(&id, &numbered("second", 1)).await?;
    case.expect(&id, &numbered("second", 1)).await?;
    case.store().delete_messages(&id).await?;
    case.expect(&id, &[]).await
}

async fn commit_releases_the_lease(case: &Case<'_>) -> CheckResult {
    let (first, second) = case.leases()?;
    let id = case.id("");
    let mut expected = Vec::new();
    for turn in 0..3 {
        let token = LeaseToken::new();
        acquire(first, &id, token, true).await?;
        let version = case.store().load(&id).await?.version();
        let messages = numbered(&format!("turn {turn}"), 2);
        expected.extend(messages.clone());
        let change = match turn {
            2 => Change::replace(version, expected.clone().into()),
            _ => Change::advance(version, 0..0, messages),
        };
        case.commit(&id, change.with_lease(token)).await?;
        case.expect(&id, &expected).await?;
        let next = LeaseToken::new();
        acquire(second, &id, next, true).await?;
        second.release(&id, next).await?;
    }
    Ok(())
}

async fn commit_with_a_lost_lease_is_rejected(case: &Case<'_>) -> CheckResult {
    let (first, second) = case.leases()?;
    for (name, before) in [("known", numbered("message", 2)), ("unknown", Vec::new())] {
        let id = case.id(name);
        if !before.is_empty() {
            case.update(&id, &before).await?;
        }
        let (lost, holder) = (LeaseToken::new(), LeaseToken::new());
        acquire(first, &id, lost, true).await?;
        first.release(&id, lost).await?;
        for holders in ["without a holder", "with another holder"] {
            for version in [case.store().load(&id).await?.version(), None] {
                let changes = [
                    Change::advance(version, 0..1, numbered("late", 2)),
                    Change::replace(version, numbered("late", 2).into()),
                ];
                for change in changes {
                    let outcome = case.store().commit(&id, change.with_lease(lost)).await;
                    rejected(
                        &format!("a commit with a lost lease {holders}"),
                        outcome,
                        ErrorKind::Conflict,
                    )?;
                    case.expect(&id, &before).await?;
                }
            }
            acquire(second, &id, holder, true).await?;
        }
        // The holder keeps its lease.
        acquire(first, &id, lost, false).await?;
        let change = Change::advance(None, 0..0, numbered("in time", 1));
        case.commit(&id, change.with_lease(holder)).await?;
        case.expect(&id, &[before, numbered("in time", 1)].concat()).await?;
    }
    Ok(())
}

async fn stale_commit_keeps_the_lease(case: &Case<'_>) -> CheckResult {
    let (first, second) = case.leases()?;
    let id = case.id("");
    let stale = case.version(&id).await?;
    let token = LeaseToken::new();
    acquire(first, &id, token, true).await?;
    // A writer that does not use leases.
    case.append(&id, numbered("first", 1)).await?;
    acquire(second, &id, LeaseToken::new(), false).await?;
    let change = Change::advance(Some(stale), 0..0, numbered("late", 1)).with_lease(token);
    rejected("a stale commit", case.store().commit(&id, change).await, ErrorKind::Conflict)?;
    case.expect(&id, &numbered("first", 1)).await?;
    acquire(second, &id, LeaseToken::new(), false).await?;
    let version = Some(case.version(&id).await?);
    let change = Change::advance(version, 0..0, numbered("second", 1)).with_lease(token);
    case.commit(&id, change).await?;
    case.expect(&id, &[numbered("first", 1), numbered("second", 1)].concat()).await
}

async fn lease_expires(case: &Case<'_>) -> CheckResult {
    let (first, _) = case.leases()?;
    if first.options().duration > MAX_DURATION {
        return Err(Stop::Skipped("leases last longer than 3 seconds"));
    }
    let (extended, expired) = join(extended_lease(case), expired_lease(case)).await;
    extended.and(expired)
}

/// Checks that each extension restarts the duration of a lease.
async fn extended_lease(case: &Case<'_>) -> CheckResult {
    let (first, second) = case.leases()?;
    let pause = first.options().duration.mul_f64(0.6);
    let id = case.id("extended");
    let token = LeaseToken::new();
    acquire(first, &id, token, true).await?;
    for _ in 0..2 {
        sleep(pause).await;
        acquire(first, &id, token, true).await?;
        acquire(second, &id, LeaseToken::new(), false).await?;
    }
    let change = Change::advance(None, 0..0, numbered("in time", 1));
    case.commit(&id, change.with_lease(token)).await
}

/// Checks that the holder of an expired lease cannot commit, even if the lease has no new holder.
async fn expired_lease(case: &Case<'_>) -> CheckResult {
    let (first, second) = case.leases()?;
    let id = case.id("expired");
    let (lost, next) = (LeaseToken::new(), LeaseToken::new());
    acquire(first, &id, lost, true).await?;
    sleep(first.options().duration + Duration::from_millis(300)).await;
    let late = || Change::advance(None, 0..0, numbered("late", 1)).with_lease(lost);
    let outcome = case.store().commit(&id, late()).await;
    rejected("a commit with an expired lease", outcome, ErrorKind::Conflict)?;
    acquire(second, &id, next, true).await?;
    acquire(first, &id, lost, false).await?;
    let outcome = case.store().commit(&id, late()).await;
    rejected("a commit with a lease of another holder", outcome, ErrorKind::Conflict)?;
    case.expect(&id, &[]).await?;
    let change = Change::advance(None, 0..0, numbered("in time", 1));
    case.commit(&id, change.with_lease(next)).await?;
    case.expect(&id, &numbered("in time", 1)).await
}
