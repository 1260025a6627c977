//! Checks of the records of a journal, and of the position that each write is based on.

use super::case::{Case, CheckResult, ensure, numbered, rejected};
use super::samples::{TEXTS, unusual_names};
use super::{both, expect, extend, open, records};
use ai_services_core::ErrorKind;
use ai_services_core::memory::{
    Change, HistoryPosition, JournalPosition, LeaseToken, MemoryId, TurnId, TurnJournal,
};
use futures_util::future::join_all;

super::checks![
    records_round_trip,
    journal_is_not_a_conversation,
    append_at_another_position_is_rejected,
    exactly_one_concurrent_append_wins,
    discard_deletes_the_journal_once,
    journals_of_unusual_ids_are_separate,
    append_requires_its_lease,
];

/// Size of a large record in bytes.
const LARGE: usize = 1024 * 1024;

async fn records_round_trip(case: &Case<'_>) -> CheckResult {
    let journals = both(case)?;
    let id = case.id("");
    expect(case, &id, None).await?;
    let texts: Vec<_> = TEXTS.iter().map(|text| (*text).to_owned()).collect();
    let mut journal = open(case, &id, &texts).await?;
    expect(case, &id, Some(&journal)).await?;
    let large = ["\"ä\"\n".repeat(LARGE / 5), "x".repeat(LARGE)];
    let more = [records("single", 1), records("several", 3), large.to_vec(), records("last", 1)];
    for (journals, records) in journals.into_iter().cycle().zip(more) {
        extend(journals, &id, &mut journal, &records).await?;
        expect(case, &id, Some(&journal)).await?;
    }
    Ok(())
}

async fn journal_is_not_a_conversation(case: &Case<'_>) -> CheckResult {
    both(case)?;
    let (id, known) = (case.id("unknown"), case.id("known"));
    case.update(&known, &numbered("message", 2)).await?;
    for (id, messages) in [(&id, Vec::new()), (&known, numbered("message", 2))] {
        let version = case.store().load(id).await?.version();
        let journal = open(case, id, &records("record", 2)).await?;
        case.expect(id, &messages).await?;
        for handle in 0..2 {
            let loaded = case.handle(handle).load(id).await?.version();
            ensure(loaded == version, || "an append changes the version".into())?;
        }
        if let Ok(store) = case.conversations() {
            let found = store.conversation(id).await?.map_or(0, |found| found.messages);
            ensure(found == messages.len() as u64, || "a record counts as a message".into())?;
            let history = store.history(id, HistoryPosition::Oldest, 10).await?;
            ensure(history.len() == messages.len(), || "a record is in the history".into())?;
        }
        // A turn that started before the append can be committed.
        case.commit(id, Change::advance(version, 0..0, numbered("more", 1))).await?;
        case.expect(id, &[messages, numbered("more", 1)].concat()).await?;
        expect(case, id, Some(&journal)).await?;
    }
    let (Ok(store), id) = (case.conversations(), case.id("never")) else { return Ok(()) };
    open(case, &id, &records("record", 1)).await?;
    let mut after = None;
    loop {
        let page = store.conversations(after.as_ref(), 100).await?;
        let last = page.last().map(|last| last.id.clone());
        if last.is_none() || last == after {
            return Ok(());
        }
        after = last;
        ensure(page.iter().all(|found| found.id != id), || {
            "a conversation without messages is listed because of its journal".into()
        })?;
    }
}

async fn append_at_another_position_is_rejected(case: &Case<'_>) -> CheckResult {
    let [first, second] = both(case)?;
    let id = case.id("");
    let other = TurnId::new();
    let refused = async |positions: &[JournalPosition], journal: Option<&TurnJournal>| {
        for (position, journals) in positions.iter().zip([first, second].into_iter().cycle()) {
            let outcome = journals.append(&id, *position, &records("late", 2), None).await;
            let operation = format!("an append at {position}");
            rejected(&operation, outcome, ErrorKind::Conflict)?;
            expect(case, &id, journal).await?;
        }
        CheckResult::Ok(())
    };
    refused(&[JournalPosition::start(other).advanced(1)], None).await?;
    let mut journal = open(case, &id, &records("first", 2)).await?;
    for round in 0..2 {
        let start = JournalPosition::start(journal.turn);
        let length = journal.records.len();
        let positions = [
            start,
            JournalPosition::start(other),
            JournalPosition::start(other).advanced(length),
            start.advanced(length - 1),
            start.advanced(length + 1),
            start.advanced(1 << 40),
        ];
        refused(&positions, Some(&journal)).await?;
        extend(first, &id, &mut journal, &records(&format!("round {round}"), 2)).await?;
    }
    expect(case, &id, Some(&journal)).await?;
    first.discard(&id, journal.position()).await?;
    refused(&[journal.position()], None).await
}

async fn exactly_one_concurrent_append_wins(case: &Case<'_>) -> CheckResult {
    const RACERS: usize = 8;
    let journals = both(case)?;
    for name in ["open", "closed"] {
        let id = &case.id(name);
        let journal = match name {
            "open" => Some(open(case, id, &records("first", 2)).await?),
            _ => None,
        };
        let racers = (0..RACERS).map(|racer| match &journal {
            Some(journal) => (racer, journal.clone()),
            None => (racer, TurnJournal::new(TurnId::new(), Vec::new())),
        });
        let racers: Vec<_> = racers
            .map(|(racer, journal)| (journal, records(&format!("racer {racer}"), 1 + racer % 2)))
            .collect();
        let appends = racers.iter().zip(journals.iter().cycle());
        let appends = appends.map(|((journal, records), journals)| {
            journals.append(id, journal.position(), records, None)
        });
        let outcomes = join_all(appends).await;
        let mut winners = Vec::new();
        for (outcome, (mut journal, records)) in outcomes.into_iter().zip(racers) {
            match outcome {
                Ok(_) => {
                    journal.records.extend(records);
                    winners.push(journal);
                }
                outcome => drop(rejected("a second append", outcome, ErrorKind::Conflict)?),
            }
        }
        let [winner] = winners.as_slice() else {
            let count = winners.len();
            return ensure(false, || {
                format!(
                    "{count} of {RACERS} concurrent appends at one position succeeded, expected 1"
                )
            });
        };
        expect(case, id, Some(winner)).await?;
    }
    Ok(())
}

async fn discard_deletes_the_journal_once(case: &Case<'_>) -> CheckResult {
    let [first, second] = both(case)?;
    for (name, messages) in [("known", numbered("message", 2)), ("unknown", Vec::new())] {
        let id = case.id(name);
        if !messages.is_empty() {
            case.update(&id, &messages).await?;
        }
        let version = case.store().load(&id).await?.version();
        let journal = open(case, &id, &records("record", 2)).await?;
        let (position, start) = (journal.position(), JournalPosition::start(journal.turn));
        let other = JournalPosition::start(TurnId::new()).advanced(2);
        for wrong in [start, start.advanced(1), start.advanced(3), other] {
            let outcome = second.discard(&id, wrong).await;
            rejected(&format!("a discard at {wrong}"), outcome, ErrorKind::Conflict)?;
            expect(case, &id, Some(&journal)).await?;
        }
        second.discard(&id, position).await?;
        for journals in [first, second] {
            expect(case, &id, None).await?;
            let again = journals.discard(&id, position).await;
            rejected("a second discard", again, ErrorKind::Conflict)?;
        }
        case.expect(&id, &messages).await?;
        ensure(case.store().load(&id).await?.version() == version, || {
            "a discard changes the version".into()
        })?;
        let next = open(case, &id, &records("next", 1)).await?;
        expect(case, &id, Some(&next)).await?;
    }
    Ok(())
}

async fn journals_of_unusual_ids_are_separate(case: &Case<'_>) -> CheckResult {
    let [first, _] = both(case)?;
    if case.conversations().is_ok() {
        let start = JournalPosition::start(TurnId::new());
        let outcome = first.append(&MemoryId::from(""), start, &records("record", 1), None).await;
        rejected("an append to the journal of the empty id", outcome, ErrorKind::Configuration)?;
    }
    let mut all = Vec::new();
    for name in unusual_names() {
        for id in [case.id(&name), case.id_starting_with(&name)] {
            let journal = open(case, &id, &[format!("of {:?}", id.as_str())]).await?;
            all.push((id, journal));
        }
    }
    for (id, journal) in &all {
        expect(case, id, Some(journal)).await.map_err(|stop| stop.about(format!("{id:?}")))?;
    }
    for (id, journal) in all.iter().step_by(2) {
        first.discard(id, journal.position()).await?;
    }
    for (number, (id, journal)) in all.iter().enumerate() {
        let expected = if number % 2 == 0 { None } else { Some(journal) };
        expect(case, id, expected).await.map_err(|stop| stop.about(format!("{id:?}")))?;
    }
    Ok(())
}

async fn append_requires_its_lease(case: &Case<'_>) -> CheckResult {
    let [first, second] = both(case)?;
    let (leases, others) = case.leases()?;
    for (name, messages) in [("known", 2), ("unknown", 0)] {
        let id = case.id(name);
        if messages > 0 {
            case.update(&id, &numbered("message", messages)).await?;
        }
        let (lost, holder) = (LeaseToken::new(), LeaseToken::new());
        leases.acquire(&id, lost).await?;
        leases.release(&id, lost).await?;
        let mut journal = TurnJournal::new(TurnId::new(), Vec::new());
        for holders in ["without a holder", "with another holder"] {
            let late = records("late", 1);
            let outcome = first.append(&id, journal.position(), &late, Some(lost)).await;
            let operation = format!("an append with a lost lease {holders}");
            rejected(&operation, outcome, ErrorKind::Conflict)?;
            expect(case, &id, None).await?;
            others.acquire(&id, holder).await?;
        }
        for (round, journals) in [first, second].into_iter().enumerate() {
            let more = records(&format!("round {round}"), 1);
            journals.append(&id, journal.position(), &more, Some(holder)).await?;
            journal.records.extend(more);
            let is_free = leases.acquire(&id, LeaseToken::new()).await?;
            ensure(!is_free, || "an append releases the lease".into())?;
            let late = records("late", 1);
            let outcome = journals.append(&id, journal.position(), &late, Some(lost)).await;
            rejected("an append with a lost lease", outcome, ErrorKind::Conflict)?;
        }
        // Appends without a lease are not blocked.
        extend(second, &id, &mut journal, &records("more", 1)).await?;
        expect(case, &id, Some(&journal)).await?;
    }
    Ok(())
}
