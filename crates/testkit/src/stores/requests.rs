//! Checks of the log of commits: the commit of a request is found, and made once.

use super::case::{Case, CheckResult, Stop, ensure, numbered, rejected};
use ai_services_core::ErrorKind;
use ai_services_core::memory::{Change, CommitState, MemoryId, RequestId};
use futures_util::future::join_all;

super::checks![
    commit_of_a_request_is_found,
    commit_is_found_behind_31_others,
    request_is_committed_once,
    concurrent_commits_of_a_request_are_one,
    refused_commit_is_not_found,
];

/// Returns the id of a request; skips the check if the store does not record requests.
async fn request(case: &Case<'_>, id: &MemoryId, name: &str) -> CheckResult<RequestId> {
    let request = RequestId::new(name)?;
    match state(case, id, &request).await? {
        CommitState::NotRecorded if case.conversations().is_err() => {
            Err(Stop::Skipped("the store does not record requests"))
        }
        CommitState::NotFound => Ok(request),
        other => Err(Stop::Failed(format!("the state of an unknown request is {other:?}"))),
    }
}

/// Returns the state of a request, which is the same for both handles.
async fn state(case: &Case<'_>, id: &MemoryId, request: &RequestId) -> CheckResult<CommitState> {
    let states = [
        case.store().commit_state(id, request).await?,
        case.second().commit_state(id, request).await?,
    ];
    let [first, second] = states;
    ensure(first == second, || format!("the two handles return {first:?} and {second:?}"))?;
    Ok(first)
}

async fn expect(
    case: &Case<'_>,
    id: &MemoryId,
    request: &RequestId,
    expected: CommitState,
) -> CheckResult {
    let found = state(case, id, request).await?;
    ensure(found == expected, || format!("the state of `{request}` is {found:?}, not {expected:?}"))
}

async fn commit_of_a_request_is_found(case: &Case<'_>) -> CheckResult {
    let (id, other) = (case.id("a"), case.id("b"));
    let names = ["first", "second", "'; DROP TABLE x; --\0", "ä", &"x".repeat(10_000)];
    for (turn, name) in names.into_iter().enumerate() {
        let request = request(case, &id, name).await?;
        let version = case.handle(turn).load(&id).await?.version();
        let messages = numbered(&format!("turn {turn}"), 2);
        let change = match turn % 3 {
            0 => Change::advance(version, 0..0, messages),
            1 => Change::advance(None, 0..1, messages),
            _ => Change::replace(version, messages.into()),
        };
        case.handle(turn).commit(&id, change.with_request(request.clone())).await?;
        expect(case, &id, &request, CommitState::Committed).await?;
        expect(case, &other, &request, CommitState::NotFound).await?;
    }
    for name in names {
        expect(case, &id, &RequestId::new(name)?, CommitState::Committed).await?;
    }
    Ok(())
}

async fn commit_is_found_behind_31_others(case: &Case<'_>) -> CheckResult {
    let id = case.id("");
    let first = request(case, &id, "first").await?;
    case.commit(&id, Change::advance(None, 0..0, numbered("first", 1)).with_request(first.clone()))
        .await?;
    for turn in 0..31 {
        // The messages of the request are evicted.
        let request = RequestId::new(format!("turn {turn}"))?;
        let change = Change::advance(None, 0..1, numbered("message", 1)).with_request(request);
        case.handle(turn).commit(&id, change).await?;
    }
    expect(case, &id, &first, CommitState::Committed).await
}

async fn request_is_committed_once(case: &Case<'_>) -> CheckResult {
    let id = case.id("");
    let request = request(case, &id, "mine").await?;
    let mine =
        |version| Change::advance(version, 0..0, numbered("mine", 2)).with_request(request.clone());
    case.commit(&id, mine(None)).await?;
    for turn in 0..3 {
        let version = case.second().load(&id).await?.version();
        let all = Change::replace(version, numbered("other", 1).into());
        for change in [mine(version), mine(None), all.with_request(request.clone())] {
            let outcome = case.handle(turn).commit(&id, change).await;
            let error = rejected("a second commit of a request", outcome, ErrorKind::Conflict)?;
            ensure(!error.is_retryable(), || {
                format!("the error of a second commit is retryable: {error}")
            })?;
        }
        ensure(case.store().load(&id).await?.version() == version, || {
            "a second commit of a request changed the version".into()
        })?;
        case.append(&id, numbered(&format!("turn {turn}"), 1)).await?;
    }
    let turns = (0..3).flat_map(|turn| numbered(&format!("turn {turn}"), 1));
    case.expect(&id, &numbered("mine", 2).into_iter().chain(turns).collect::<Vec<_>>()).await
}

async fn concurrent_commits_of_a_request_are_one(case: &Case<'_>) -> CheckResult {
    const RACERS: usize = 8;
    for name in ["known", "unknown"] {
        let id = &case.id(name);
        let request = request(case, id, "mine").await?;
        if name == "known" {
            case.append(id, numbered("first", 1)).await?;
        }
        let before = case.store().get_messages(id).await?;
        let commits = (0..RACERS).map(|racer| {
            let change = Change::advance(None, 0..0, numbered("mine", 2));
            case.handle(racer).commit(id, change.with_request(request.clone()))
        });
        let mut applied = 0;
        for outcome in join_all(commits).await {
            match outcome {
                Ok(()) => applied += 1,
                outcome => drop(rejected("a second commit", outcome, ErrorKind::Conflict)?),
            }
        }
        ensure(applied == 1, || format!("{applied} of {RACERS} commits of a request succeeded"))?;
        case.expect(id, &[before, numbered("mine", 2)].concat()).await?;
    }
    Ok(())
}

async fn refused_commit_is_not_found(case: &Case<'_>) -> CheckResult {
    let id = case.id("");
    let request = request(case, &id, "mine").await?;
    let stale = case.version(&id).await?;
    case.append(&id, numbered("first", 1)).await?;
    let mine = |version| {
        Change::advance(Some(version), 0..0, numbered("mine", 1)).with_request(request.clone())
    };
    let outcome = case.store().commit(&id, mine(stale)).await;
    let error = rejected("a stale commit of a request", outcome, ErrorKind::Conflict)?;
    ensure(error.is_retryable(), || "the error of a stale commit is not retryable".into())?;
    expect(case, &id, &request, CommitState::NotFound).await?;
    // The same request may be committed at the current version.
    let version = case.version(&id).await?;
    case.commit(&id, mine(version)).await?;
    expect(case, &id, &request, CommitState::Committed).await
}
