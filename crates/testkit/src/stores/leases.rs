//! Leases: one process at a time has a turn.

use super::case::{Case, Stop, Verdict, ensure, numbered, refused};
use ai_services_core::ErrorKind;
use ai_services_core::memory::{Change, ConversationLeases, LeaseToken, MemoryId};
use futures_util::future::{join, join_all};
use std::time::Duration;
use tokio::time::sleep;

super::checks![
    lease_is_held_by_one,
    lease_is_released_by_its_holder_only,
    lease_holds_up_its_own_conversation_only,
    commit_gives_the_lease_back,
    commit_under_a_lost_lease_is_refused,
    stale_commit_keeps_the_lease,
    lease_ends_by_itself,
];

/// Leases that last longer are not waited for.
const LONGEST: Duration = Duration::from_secs(3);

/// Checks whether `token` gets the lease.
async fn acquire(
    leases: &dyn ConversationLeases,
    id: &MemoryId,
    token: LeaseToken,
    expected: bool,
) -> Verdict {
    let held = leases.acquire(id, token).await?;
    ensure(held == expected, || match held {
        true => "a lease is given to a second holder".into(),
        false => "a lease is refused though it is free or one's own".into(),
    })
}

async fn lease_is_held_by_one(case: &Case<'_>) -> Verdict {
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
        for (token, held) in tokens.iter().zip(join_all(attempts).await) {
            holders.extend(held?.then_some(*token));
        }
        let [holder] = *holders else {
            return Err(Stop::Failed(format!("{} of {RACERS} got one lease", holders.len())));
        };
        for leases in [first, second] {
            acquire(leases, id, holder, true).await?;
            acquire(leases, id, LeaseToken::new(), false).await?;
        }
        first.release(id, holder).await?;
    }
    Ok(())
}

async fn lease_is_released_by_its_holder_only(case: &Case<'_>) -> Verdict {
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

async fn lease_holds_up_its_own_conversation_only(case: &Case<'_>) -> Verdict {
    let (first, second) = case.leases()?;
    let (id, other) = (case.id("a"), case.id("b"));
    let version = case.store().load(&id).await?.version();
    acquire(first, &id, LeaseToken::new(), true).await?;
    let held = case.store().load(&id).await?.version();
    ensure(held == version, || "a lease changes the version".into())?;
    if let Ok(store) = case.conversations() {
        let known = store.conversation(&id).await?;
        ensure(known.is_none_or(|known| known.messages == 0), || "a lease is counted".into())?;
    }
    acquire(second, &other, LeaseToken::new(), true).await?;
    // Reads and changes that name no lease are not held up.
    case.expect(&id, &[]).await?;
    case.commit(&id, Change::advance(version, 0..0, numbered("first", 1))).await?;
    case.update(&id, &numbered("second", 1)).await?;
    case.expect(&id, &numbered("second", 1)).await?;
    case.store().delete_messages(&id).await?;
    case.expect(&id, &[]).await
}

async fn commit_gives_the_lease_back(case: &Case<'_>) -> Verdict {
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
        case.commit(&id, change.under(token)).await?;
        case.expect(&id, &expected).await?;
        let next = LeaseToken::new();
        acquire(second, &id, next, true).await?;
        second.release(&id, next).await?;
    }
    Ok(())
}

async fn commit_under_a_lost_lease_is_refused(case: &Case<'_>) -> Verdict {
    let (first, second) = case.leases()?;
    for (name, before) in [("known", numbered("message", 2)), ("unknown", Vec::new())] {
        let id = case.id(name);
        if !before.is_empty() {
            case.update(&id, &before).await?;
        }
        let (lost, holder) = (LeaseToken::new(), LeaseToken::new());
        acquire(first, &id, lost, true).await?;
        first.release(&id, lost).await?;
        for what in ["without a holder", "with another holder"] {
            for version in [case.store().load(&id).await?.version(), None] {
                let changes = [
                    Change::advance(version, 0..1, numbered("late", 2)),
                    Change::replace(version, numbered("late", 2).into()),
                ];
                for change in changes {
                    let outcome = case.store().commit(&id, change.under(lost)).await;
                    refused(
                        &format!("a commit under a lost lease {what}"),
                        outcome,
                        ErrorKind::Conflict,
                    )?;
                    case.expect(&id, &before).await?;
                }
            }
            acquire(second, &id, holder, true).await?;
        }
        // The holder lost nothing by that.
        acquire(first, &id, lost, false).await?;
        let change = Change::advance(None, 0..0, numbered("in time", 1));
        case.commit(&id, change.under(holder)).await?;
        case.expect(&id, &[before, numbered("in time", 1)].concat()).await?;
    }
    Ok(())
}

async fn stale_commit_keeps_the_lease(case: &Case<'_>) -> Verdict {
    let (first, second) = case.leases()?;
    let id = case.id("");
    let stale = case.version(&id).await?;
    let token = LeaseToken::new();
    acquire(first, &id, token, true).await?;
    // Somebody who knows of no leases.
    case.append(&id, numbered("first", 1)).await?;
    acquire(second, &id, LeaseToken::new(), false).await?;
    let change = Change::advance(Some(stale), 0..0, numbered("late", 1)).under(token);
    refused("a stale commit", case.store().commit(&id, change).await, ErrorKind::Conflict)?;
    case.expect(&id, &numbered("first", 1)).await?;
    acquire(second, &id, LeaseToken::new(), false).await?;
    let version = Some(case.version(&id).await?);
    let change = Change::advance(version, 0..0, numbered("second", 1)).under(token);
    case.commit(&id, change).await?;
    case.expect(&id, &[numbered("first", 1), numbered("second", 1)].concat()).await
}

async fn lease_ends_by_itself(case: &Case<'_>) -> Verdict {
    let (first, _) = case.leases()?;
    if first.options().duration > LONGEST {
        return Err(Stop::Skipped("leases last longer than 3 seconds"));
    }
    let (prolonged, ended) = join(prolonged_lease(case), ended_lease(case)).await;
    prolonged.and(ended)
}

/// A lease lasts anew from each time it is prolonged.
async fn prolonged_lease(case: &Case<'_>) -> Verdict {
    let (first, second) = case.leases()?;
    let pause = first.options().duration.mul_f64(0.6);
    let id = case.id("prolonged");
    let token = LeaseToken::new();
    acquire(first, &id, token, true).await?;
    for _ in 0..2 {
        sleep(pause).await;
        acquire(first, &id, token, true).await?;
        acquire(second, &id, LeaseToken::new(), false).await?;
    }
    let change = Change::advance(None, 0..0, numbered("in time", 1));
    case.commit(&id, change.under(token)).await
}

/// Whoever had it cannot commit any more, even if nobody else wanted the lease.
async fn ended_lease(case: &Case<'_>) -> Verdict {
    let (first, second) = case.leases()?;
    let id = case.id("ended");
    let (lost, next) = (LeaseToken::new(), LeaseToken::new());
    acquire(first, &id, lost, true).await?;
    sleep(first.options().duration + Duration::from_millis(300)).await;
    let late = || Change::advance(None, 0..0, numbered("late", 1)).under(lost);
    let outcome = case.store().commit(&id, late()).await;
    refused("a commit under a lease that has ended", outcome, ErrorKind::Conflict)?;
    acquire(second, &id, next, true).await?;
    acquire(first, &id, lost, false).await?;
    let outcome = case.store().commit(&id, late()).await;
    refused("a commit under a lease that another has", outcome, ErrorKind::Conflict)?;
    case.expect(&id, &[]).await?;
    let change = Change::advance(None, 0..0, numbered("in time", 1));
    case.commit(&id, change.under(next)).await?;
    case.expect(&id, &numbered("in time", 1)).await
}
