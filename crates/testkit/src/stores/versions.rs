//! Checks of versions (optimistic locking): a commit with an old version is rejected.

use super::case::{Case, CheckResult, ensure, failed, numbered, rejected};
use ai_services_core::ErrorKind;
use ai_services_core::memory::{Change, MemoryId};
use ai_services_core::message::{ChatMessage, Messages};
use futures_util::future::join_all;
use std::collections::HashSet;

super::checks![
    first_commit_uses_the_version_of_an_unknown_id,
    every_commit_changes_the_version,
    stale_commit_is_rejected,
    unknown_version_is_rejected,
    commit_without_version_always_applies,
    recreated_conversation_has_new_versions,
    exactly_one_concurrent_commit_wins,
    concurrent_turns_are_all_stored,
    concurrent_appends_are_all_stored,
];

const RACERS: usize = 8;

/// Returns a change that expects a version.
type ChangeAtVersion = fn(Option<u64>) -> Change;

async fn first_commit_uses_the_version_of_an_unknown_id(case: &Case<'_>) -> CheckResult {
    let id = case.id("");
    let unknown = case.version(&id).await?;
    case.commit(&id, Change::advance(Some(unknown), 0..0, numbered("first", 2))).await?;
    case.expect(&id, &numbered("first", 2)).await?;
    let second = Change::advance(Some(unknown), 0..0, numbered("second", 2));
    let outcome = case.second().commit(&id, second).await;
    rejected("a second first commit", outcome, ErrorKind::Conflict)?;
    case.expect(&id, &numbered("first", 2)).await
}

fn two() -> Vec<ChatMessage> {
    numbered("message", 2)
}

async fn every_commit_changes_the_version(case: &Case<'_>) -> CheckResult {
    let id = case.id("");
    let mut seen = HashSet::from([case.version(&id).await?]);
    let changes: [(&str, ChangeAtVersion); 6] = [
        ("an append", |version| Change::advance(version, 0..0, two())),
        ("a commit of nothing", |version| Change::advance(version, 0..0, Vec::new())),
        ("an eviction", |version| Change::advance(version, 0..1, Vec::new())),
        ("a replacement", |version| Change::replace(version, two().into())),
        ("an equal replacement", |version| Change::replace(version, two().into())),
        ("an empty replacement", |version| Change::replace(version, Messages::new())),
    ];
    for (name, change) in changes {
        let version = case.version(&id).await?;
        case.commit(&id, change(Some(version))).await?;
        let version = case.version(&id).await?;
        ensure(seen.insert(version), || format!("{name} does not change the version {version}"))?;
        ensure(case.version(&id).await? == version, || "a read changes the version".into())?;
    }
    case.update(&id, &two()).await?;
    let version = case.version(&id).await?;
    ensure(seen.insert(version), || format!("an update does not change the version {version}"))
}

async fn stale_commit_is_rejected(case: &Case<'_>) -> CheckResult {
    let id = case.id("");
    case.version(&id).await?;
    case.update(&id, &numbered("first", 2)).await?;
    let stale = case.version(&id).await?;
    case.commit(&id, Change::advance(Some(stale), 0..1, numbered("second", 2))).await?;
    let current = case.version(&id).await?;
    let expected: Vec<_> =
        numbered("first", 2).into_iter().skip(1).chain(numbered("second", 2)).collect();

    let changes = [
        ("a stale append", Change::advance(Some(stale), 0..0, numbered("late", 2))),
        ("a stale eviction", Change::advance(Some(stale), 0..1, Vec::new())),
        ("a stale commit of nothing", Change::advance(Some(stale), 0..0, Vec::new())),
        ("a stale replacement", Change::replace(Some(stale), numbered("late", 1).into())),
        ("a stale equal replacement", Change::replace(Some(stale), expected.clone().into())),
    ];
    for (name, change) in changes {
        rejected(name, case.second().commit(&id, change).await, ErrorKind::Conflict)?;
        case.expect(&id, &expected).await?;
        let version = case.version(&id).await?;
        ensure(version == current, || format!("{name} was rejected, but changed the version"))?;
    }
    case.commit(&id, Change::replace(Some(current), numbered("last", 1).into())).await?;
    case.expect(&id, &numbered("last", 1)).await
}

async fn unknown_version_is_rejected(case: &Case<'_>) -> CheckResult {
    let (known, unknown) = (case.id("known"), case.id("unknown"));
    case.version(&known).await?;
    case.update(&known, &numbered("first", 2)).await?;
    for (id, expected) in [(&known, numbered("first", 2)), (&unknown, Vec::new())] {
        let wrong = case.version(id).await?.saturating_add(1_000);
        let change = Change::advance(Some(wrong), 0..1, numbered("wrong", 1));
        let outcome = case.store().commit(id, change).await;
        rejected("a commit that expects a wrong version", outcome, ErrorKind::Conflict)?;
        // Not every store can represent this version.
        let change = Change::advance(Some(u64::MAX), 0..1, numbered("wrong", 1));
        let outcome = case.store().commit(id, change).await;
        ensure(outcome.is_err(), || "a commit that expects the largest version succeeded".into())?;
        case.expect(id, &expected).await?;
    }
    Ok(())
}

async fn commit_without_version_always_applies(case: &Case<'_>) -> CheckResult {
    let id = case.id("");
    case.version(&id).await?;
    case.append(&id, numbered("first", 2)).await?;
    case.commit(&id, Change::advance(None, 0..1, numbered("second", 1))).await?;
    let mut expected = numbered("first", 2);
    expected.remove(0);
    expected.extend(numbered("second", 1));
    case.expect(&id, &expected).await?;
    case.commit(&id, Change::replace(None, numbered("third", 1).into())).await?;
    case.expect(&id, &numbered("third", 1)).await
}

async fn recreated_conversation_has_new_versions(case: &Case<'_>) -> CheckResult {
    let id = case.id("");
    case.version(&id).await?;
    let mut old = Vec::new();
    for _ in 0..3 {
        case.append(&id, numbered("old", 2)).await?;
        old.push(case.version(&id).await?);
        case.store().delete_messages(&id).await?;
        // Deleted, then created again in the same way.
        for expected in [Vec::new(), numbered("old", 2)] {
            if !expected.is_empty() {
                case.append(&id, expected.clone()).await?;
            }
            for version in &old {
                let change = Change::advance(Some(*version), 0..0, numbered("late", 1));
                let outcome = case.second().commit(&id, change).await;
                rejected("a commit to a deleted conversation", outcome, ErrorKind::Conflict)?;
            }
            case.expect(&id, &expected).await?;
        }
        old.push(case.version(&id).await?);
        case.store().delete_messages(&id).await?;
    }
    Ok(())
}

async fn exactly_one_concurrent_commit_wins(case: &Case<'_>) -> CheckResult {
    let (known, unknown, replaced) = (case.id("known"), case.id("unknown"), case.id("replaced"));
    let base = numbered("base", 2);
    case.version(&known).await?;
    case.update(&known, &base).await?;
    case.update(&replaced, &base).await?;
    race(case, &known, &base, |version, new| Change::advance(version, 0..0, new)).await?;
    race(case, &unknown, &[], |version, new| Change::advance(version, 0..0, new)).await?;
    race(case, &replaced, &[], |version, new| Change::replace(version, new.into())).await
}

/// Commits from all writers with the same version.
async fn race(
    case: &Case<'_>,
    id: &MemoryId,
    before: &[ChatMessage],
    change: impl Fn(Option<u64>, Vec<ChatMessage>) -> Change,
) -> CheckResult {
    let version = Some(case.version(id).await?);
    let messages = |racer: usize| numbered(&format!("racer {racer}"), 2);
    let commits =
        (0..RACERS).map(|racer| case.handle(racer).commit(id, change(version, messages(racer))));
    let mut winners = Vec::new();
    for (racer, outcome) in join_all(commits).await.into_iter().enumerate() {
        match outcome {
            Ok(()) => winners.push(racer),
            Err(error) => drop(rejected::<()>(
                "a commit that lost the race",
                Err(error),
                ErrorKind::Conflict,
            )?),
        }
    }
    let [winner] = *winners else {
        let count = winners.len();
        return Err(failed(format!("{count} of {RACERS} commits at one version succeeded")));
    };
    let expected: Vec<_> = before.iter().cloned().chain(messages(winner)).collect();
    case.expect(id, &expected).await
}

async fn concurrent_turns_are_all_stored(case: &Case<'_>) -> CheckResult {
    const TURNS: usize = 20;
    /// Each round of attempts has a winner, so no writer fails more often.
    const ATTEMPTS: usize = 4 * RACERS * TURNS;
    let id = &case.id("");
    case.version(id).await?;
    let racers = (0..RACERS).map(|racer| async move {
        let store = case.handle(racer);
        for turn in 0..TURNS {
            let mut attempts = 0;
            loop {
                let version = store.load(id).await?.version();
                let messages = numbered(&format!("{racer} {turn}"), 2);
                match store.commit(id, Change::advance(version, 0..0, messages)).await {
                    Ok(()) => break,
                    Err(error) if error.kind() == ErrorKind::Conflict && attempts < ATTEMPTS => {
                        attempts += 1;
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    });
    for outcome in join_all(racers).await {
        outcome?;
    }
    complete(&case.store().get_messages(id).await?, TURNS)
}

async fn concurrent_appends_are_all_stored(case: &Case<'_>) -> CheckResult {
    const TURNS: usize = 5;
    let id = &case.id("");
    case.version(id).await?;
    let racers = (0..RACERS).map(|racer| async move {
        for turn in 0..TURNS {
            let messages = numbered(&format!("{racer} {turn}"), 2);
            case.handle(racer).commit(id, Change::advance(None, 0..0, messages)).await?;
        }
        CheckResult::Ok(())
    });
    for outcome in join_all(racers).await {
        outcome?;
    }
    complete(&case.store().get_messages(id).await?, TURNS)
}

/// Checks that every turn of every writer is stored once and contiguously, in the writer's order.
fn complete(messages: &[ChatMessage], turns: usize) -> CheckResult {
    let expected = RACERS * turns * 2;
    let found = messages.len();
    ensure(found == expected, || format!("{found} messages are stored, expected {expected}"))?;
    let mut next = [0; RACERS];
    for pair in messages.chunks(2) {
        let racer = next
            .iter_mut()
            .enumerate()
            .find(|(racer, turn)| pair == numbered(&format!("{racer} {turn}"), 2));
        let Some((_, turn)) = racer else {
            return Err(failed(format!("{pair:?} is not the next turn of any writer")));
        };
        *turn += 1;
    }
    Ok(())
}
