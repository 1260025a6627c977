//! Checks of the commits that close a journal, and of the positions in snapshots.

use super::case::{Case, CheckResult, Stop, ensure, numbered, rejected};
use super::{both, expect, extend, open, records};
use ai_services_core::ErrorKind;
use ai_services_core::memory::{
    Change, CommitState, JournalPosition, LeaseToken, MemoryId, RequestId, TurnId, TurnJournal,
};
use futures_util::future::{join, join_all};

super::checks![
    load_returns_the_position_of_the_journal,
    commit_closes_the_journal,
    commit_and_closing_are_one_step,
    commit_closing_another_position_is_rejected,
    commit_that_closes_nothing_keeps_the_journal,
    closing_commit_releases_the_lease,
];

/// Checks that both handles load this position.
async fn loaded(case: &Case<'_>, id: &MemoryId, expected: Option<JournalPosition>) -> CheckResult {
    for handle in [case.store(), case.second(), case.store()] {
        let found = handle.load(id).await?.journal();
        ensure(found == expected, || {
            format!("`load` returns the journal {found:?}, expected {expected:?}")
        })?;
    }
    Ok(())
}

async fn load_returns_the_position_of_the_journal(case: &Case<'_>) -> CheckResult {
    let [first, second] = both(case)?;
    for (name, messages) in [("known", 2), ("unknown", 0)] {
        let id = case.id(name);
        if messages > 0 {
            case.update(&id, &numbered("message", messages)).await?;
        }
        loaded(case, &id, None).await?;
        let mut journal = open(case, &id, &records("first", 2)).await?;
        loaded(case, &id, Some(journal.position())).await?;
        for journals in [first, second] {
            extend(journals, &id, &mut journal, &records("more", 3)).await?;
            loaded(case, &id, Some(journal.position())).await?;
        }
        second.discard(&id, journal.position()).await?;
        loaded(case, &id, None).await?;
        // A cache of loaded conversations knows the messages, but not the journal.
        let journal = open(case, &id, &records("second", 1)).await?;
        loaded(case, &id, Some(journal.position())).await?;
        case.append(&id, numbered("message of another turn", 1)).await?;
        loaded(case, &id, Some(journal.position())).await?;
        let change = Change::advance(None, 0..0, numbered("turn", 1)).closing(journal.position());
        case.commit(&id, change).await?;
        loaded(case, &id, None).await?;
    }
    Ok(())
}

async fn commit_closes_the_journal(case: &Case<'_>) -> CheckResult {
    let [first, _] = both(case)?;
    let id = case.id("");
    let mut expected = Vec::new();
    for turn in 0..4 {
        let mut journal = open(case, &id, &records("first", 1)).await?;
        extend(first, &id, &mut journal, &records("more", 1 + turn)).await?;
        let messages = numbered(&format!("turn {turn}"), 2);
        expected.extend(messages.clone());
        let version = case.handle(turn).load(&id).await?.version();
        let change = match turn {
            2 => Change::replace(version, expected.clone().into()),
            3 => Change::advance(None, 0..0, messages),
            _ => Change::advance(version, 0..0, messages),
        };
        case.handle(turn).commit(&id, change.closing(journal.position())).await?;
        case.expect(&id, &expected).await?;
        expect(case, &id, None).await?;
        let late = first.append(&id, journal.position(), &records("late", 1), None).await;
        rejected("an append to a closed journal", late, ErrorKind::Conflict)?;
    }
    Ok(())
}

async fn commit_and_closing_are_one_step(case: &Case<'_>) -> CheckResult {
    const ROUNDS: usize = 8;
    const READERS: usize = 4;
    both(case)?;
    let id = &case.id("");
    for round in 0..ROUNDS {
        let journal = open(case, id, &records("record", 2)).await?;
        let change = Change::advance(None, 0..0, numbered("turn", 1));
        let commit = case.handle(round).commit(id, change.closing(journal.position()));
        let loads = (0..READERS).map(async |reader| {
            let mut snapshots = Vec::new();
            for _ in 0..3 {
                snapshots.push(case.handle(reader).load(id).await?);
            }
            CheckResult::Ok(snapshots)
        });
        let (committed, snapshots) = join(commit, join_all(loads)).await;
        committed?;
        for snapshots in snapshots {
            for snapshot in snapshots? {
                let expected = match snapshot.messages().len() {
                    messages if messages == round => Some(journal.position()),
                    _ => None,
                };
                ensure(snapshot.journal() == expected, || {
                    "a snapshot shows a turn with its open journal, or neither of them".into()
                })?;
            }
        }
    }
    Ok(())
}

async fn commit_closing_another_position_is_rejected(case: &Case<'_>) -> CheckResult {
    both(case)?;
    let other = JournalPosition::start(TurnId::new());
    for (name, messages) in [("known", numbered("message", 2)), ("unknown", Vec::new())] {
        let id = case.id(name);
        if !messages.is_empty() {
            case.update(&id, &messages).await?;
        }
        refuse(case, &id, &[other, other.advanced(1)], None).await?;
        let journal = open(case, &id, &records("record", 2)).await?;
        let start = JournalPosition::start(journal.turn);
        let wrong = [start, start.advanced(1), start.advanced(3), other.advanced(2)];
        refuse(case, &id, &wrong, Some(&journal)).await?;
        case.expect(&id, &messages).await?;
        let change = Change::advance(None, 0..0, numbered("turn", 1));
        case.commit(&id, change.closing(journal.position())).await?;
        case.expect(&id, &[messages, numbered("turn", 1)].concat()).await?;
    }
    Ok(())
}

/// Checks that no change that closes one of these positions changes anything.
async fn refuse(
    case: &Case<'_>,
    id: &MemoryId,
    positions: &[JournalPosition],
    journal: Option<&TurnJournal>,
) -> CheckResult {
    let before = case.store().get_messages(id).await?;
    let version = case.store().load(id).await?.version();
    let leases = case.leases().ok();
    let holder = LeaseToken::new();
    if let Some((leases, _)) = leases {
        leases.acquire(id, holder).await?;
    }
    let request = RequestId::new("refused")?;
    for (handle, position) in positions.iter().enumerate() {
        let changes = [
            Change::advance(version, 0..1, numbered("late", 2)),
            Change::advance(None, 0..0, numbered("late", 2)),
            Change::replace(version, numbered("late", 2).into()),
        ];
        for change in changes {
            let change = change.closing(*position).with_request(request.clone());
            let change = if leases.is_some() { change.with_lease(holder) } else { change };
            let outcome = case.handle(handle).commit(id, change).await;
            let operation = format!("a commit that closes the journal {position}");
            let error = rejected(&operation, outcome, ErrorKind::Conflict)?;
            ensure(!error.is_retryable(), || format!("the error is retryable: {error}"))?;
            case.expect(id, &before).await?;
            expect(case, id, journal).await?;
        }
    }
    let changed = case.store().load(id).await?.version() != version;
    ensure(!changed, || "a rejected commit changes the version".into())?;
    let state = case.store().commit_state(id, &request).await?;
    ensure(state != CommitState::Committed, || "a rejected commit is in the log".into())?;
    let Some((leases, others)) = leases else { return Ok(()) };
    let is_free = others.acquire(id, LeaseToken::new()).await?;
    ensure(!is_free, || "a rejected commit releases the lease".into())?;
    leases.release(id, holder).await.map_err(Stop::from)
}

async fn commit_that_closes_nothing_keeps_the_journal(case: &Case<'_>) -> CheckResult {
    let [first, second] = both(case)?;
    let id = case.id("");
    case.update(&id, &numbered("message", 3)).await?;
    let mut journal = open(case, &id, &records("record", 2)).await?;
    let changes = [
        Change::advance(None, 0..0, numbered("turn", 2)),
        Change::advance(None, 0..2, Vec::new()),
        Change::replace(None, numbered("new", 1).into()),
        Change::replace(None, Vec::new().into()),
    ];
    for (change, journals) in changes.into_iter().zip([first, second].into_iter().cycle()) {
        case.commit(&id, change).await?;
        expect(case, &id, Some(&journal)).await?;
        extend(journals, &id, &mut journal, &records("more", 1)).await?;
    }
    case.update(&id, &numbered("updated", 1)).await?;
    expect(case, &id, Some(&journal)).await
}

async fn closing_commit_releases_the_lease(case: &Case<'_>) -> CheckResult {
    both(case)?;
    let (leases, others) = case.leases()?;
    let id = case.id("");
    for turn in 0..2 {
        let holder = LeaseToken::new();
        ensure(leases.acquire(&id, holder).await?, || "a free lease is not granted".into())?;
        let journal = open(case, &id, &records("record", 2)).await?;
        let version = case.store().load(&id).await?.version();
        let change = Change::advance(version, 0..0, numbered(&format!("turn {turn}"), 1));
        case.commit(&id, change.with_lease(holder).closing(journal.position())).await?;
        let next = LeaseToken::new();
        ensure(others.acquire(&id, next).await?, || "the commit keeps the lease".into())?;
        others.release(&id, next).await?;
        expect(case, &id, None).await?;
    }
    Ok(())
}
