//! Checks of the list, the export and the deletion of journals.

use super::case::{Case, CheckResult, Stop, ensure, failed, numbered, rejected};
use super::conversations::{PAUSE, TOLERANCE};
use super::{both, expect, extend, open, records};
use ai_services_core::ErrorKind;
use ai_services_core::memory::{Change, Conversation, JournalPosition, MemoryId, OpenJournal};
use std::collections::HashMap;
use std::time::SystemTime;
use tokio::time::sleep;

super::checks![
    open_journals_are_listed_once,
    times_of_journals_are_those_of_their_last_append,
    deletion_removes_the_journal,
    export_contains_the_journal,
    append_counts_as_a_write,
];

/// Returns the listed journals of this check after `after`, in pages of `limit`.
async fn listing(
    case: &Case<'_>,
    mut after: Option<MemoryId>,
    limit: usize,
) -> CheckResult<Vec<OpenJournal>> {
    let mut own = Vec::new();
    for journals in both(case)?.into_iter().cycle() {
        let page = journals.open_journals(after.as_ref(), limit).await?;
        ensure(page.len() <= limit, || {
            format!("a page with a limit of {limit} has {} journals", page.len())
        })?;
        let Some(last) = page.last() else { break };
        ensure(after.as_ref() != Some(&last.id), || "the same page is returned twice".into())?;
        after = Some(last.id.clone());
        own.extend(page.into_iter().filter(|journal| case.owns(&journal.id)));
    }
    Ok(own)
}

async fn open_journals_are_listed_once(case: &Case<'_>) -> CheckResult {
    const COUNT: usize = 12;
    let [first, _] = both(case)?;
    rejected("a page of 0", first.open_journals(None, 0).await, ErrorKind::Configuration)?;
    let mut expected = HashMap::new();
    for number in 0..COUNT {
        let id = case.id(&number.to_string());
        if number % 2 == 0 {
            case.update(&id, &numbered("message", 1)).await?;
        }
        let journal = open(case, &id, &records("record", 1 + number % 3)).await?;
        expected.insert(id, journal.position());
    }
    let ids = ["never", "discarded", "committed", "deleted"].map(|name| case.id(name));
    let [never, discarded, committed, deleted] = &ids;
    case.update(never, &numbered("message", 1)).await?;
    let journal = open(case, discarded, &records("record", 1)).await?;
    first.discard(discarded, journal.position()).await?;
    let journal = open(case, committed, &records("record", 1)).await?;
    let change = Change::advance(None, 0..0, numbered("turn", 1)).closing(journal.position());
    case.commit(committed, change).await?;
    open(case, deleted, &records("record", 1)).await?;
    case.store().delete_messages(deleted).await?;

    for limit in [1, 5, COUNT, 100] {
        let listed = listing(case, None, limit).await?;
        let positions: HashMap<MemoryId, JournalPosition> =
            listed.iter().map(|it| (it.id.clone(), it.position)).collect();
        ensure(listed.len() == positions.len(), || "a journal is listed twice".into())?;
        ensure(positions == expected, || {
            format!("the open journals are {positions:?}, expected {expected:?}")
        })?;
    }
    // The last journal of a page may be closed before the next page is read.
    let all = listing(case, None, 100).await?;
    let Some((cursor, rest)) = all.get(COUNT / 2..).and_then(<[_]>::split_first) else {
        return Err(failed("the list is too short"));
    };
    first.discard(&cursor.id, cursor.position).await?;
    let found = listing(case, Some(cursor.id.clone()), 4).await?;
    ensure(found == rest, || {
        format!("the page after a closed journal is {found:?}, expected {rest:?}")
    })
}

async fn times_of_journals_are_those_of_their_last_append(case: &Case<'_>) -> CheckResult {
    let [first, second] = both(case)?;
    let id = case.id("");
    let last_updated = async || {
        let listed = listing(case, None, 100).await?;
        let found = listed.into_iter().find(|journal| journal.id == id);
        found.map(|found| found.last_updated).ok_or_else(|| failed("the journal is not listed"))
    };
    let mut journal = open(case, &id, &records("record", 2)).await?;
    let mut previous = last_updated().await?;
    let now = SystemTime::now();
    let off = now.duration_since(previous).unwrap_or_else(|error| error.duration());
    ensure(off < TOLERANCE, || format!("the time of the last append is off by {off:?}"))?;
    for journals in [first, second] {
        sleep(PAUSE).await;
        case.append(&id, numbered("message", 1)).await?;
        expect(case, &id, Some(&journal)).await?;
        let read = last_updated().await?;
        ensure(read == previous, || "another write updates the time of the last append".into())?;
        extend(journals, &id, &mut journal, &records("more", 1)).await?;
        let changed = last_updated().await?;
        ensure(changed > previous, || "an append does not update the time".into())?;
        previous = changed;
    }
    Ok(())
}

async fn deletion_removes_the_journal(case: &Case<'_>) -> CheckResult {
    both(case)?;
    let (known, unknown, other) = (case.id("known"), case.id("unknown"), case.id("other"));
    case.update(&known, &numbered("message", 2)).await?;
    let kept = open(case, &other, &records("other", 1)).await?;
    for (handle, id) in [&known, &unknown].into_iter().enumerate() {
        open(case, id, &records("record", 2)).await?;
        case.handle(handle).delete_messages(id).await?;
        expect(case, id, None).await?;
        let position = case.store().load(id).await?.journal();
        ensure(position.is_none(), || format!("`load` still returns the journal {position:?}"))?;
        let next = open(case, id, &records("next", 1)).await?;
        expect(case, id, Some(&next)).await?;
    }
    expect(case, &other, Some(&kept)).await
}

async fn export_contains_the_journal(case: &Case<'_>) -> CheckResult {
    let [first, _] = both(case)?;
    let store = case.conversations()?;
    for (name, messages) in [("known", 2), ("unknown", 0)] {
        let id = case.id(name);
        if messages > 0 {
            case.update(&id, &numbered("message", messages)).await?;
        }
        let before = store.export_raw(&id).await?;
        let journal = open(case, &id, &records("a rare word", 3)).await?;
        let rows = store.export_raw(&id).await?;
        let exported = |record: &String| {
            let has = |data: &[u8]| data.windows(record.len()).any(|it| it == record.as_bytes());
            rows.iter().any(|row| has(&row.data))
        };
        ensure(journal.records.iter().all(exported), || {
            let names: Vec<_> = rows.iter().map(|row| &row.row).collect();
            format!("the records of the journal are not in the exported rows {names:?}")
        })?;
        first.discard(&id, journal.position()).await?;
        let after = store.export_raw(&id).await?;
        ensure(after == before, || "a discarded journal is exported".into())?;
    }
    Ok(())
}

async fn append_counts_as_a_write(case: &Case<'_>) -> CheckResult {
    const OLD: usize = 20;
    let [first, _] = both(case)?;
    let store = case.conversations()?;
    if !case.suite().disposable {
        return Err(Stop::Skipped("the store is not declared `disposable`"));
    }
    let old: Vec<_> = (0..OLD).map(|number| case.id(&format!("old {number}"))).collect();
    let ids = ["appended", "only appended", "opened", "committed", "marker"];
    let [appended, only_appended, opened, committed, marker] = ids.map(|name| case.id(name));
    for (number, id) in old.iter().enumerate() {
        if number % 2 == 0 {
            case.update(id, &numbered("message", 2)).await?;
        }
        open(case, id, &records("record", 2)).await?;
    }
    for id in [&appended, &opened] {
        case.update(id, &numbered("message", 2)).await?;
    }
    let mut spared = Vec::new();
    for id in [&appended, &only_appended] {
        spared.push((id, open(case, id, &records("record", 2)).await?));
    }
    let old_journal = open(case, &committed, &records("record", 2)).await?;
    sleep(PAUSE).await;
    case.update(&marker, &numbered("new", 1)).await?;
    let Some(Conversation { last_updated: time, .. }) = store.conversation(&marker).await? else {
        return Err(failed("the conversation is unknown"));
    };
    for (id, journal) in &mut spared {
        extend(first, id, journal, &records("more", 1)).await?;
    }
    spared.push((&opened, open(case, &opened, &records("record", 2)).await?));
    case.append(&committed, numbered("new", 1)).await?;
    spared.push((&committed, old_journal));

    let deleted = store.delete_not_updated_since(time).await?;
    ensure(deleted >= OLD as u64, || format!("{deleted} of {OLD} old conversations were deleted"))?;
    for id in &old {
        case.expect(id, &[]).await?;
        expect(case, id, None).await?;
    }
    for (id, journal) in &spared {
        expect(case, id, Some(journal)).await?;
    }
    for id in [&appended, &opened] {
        case.expect(id, &numbered("message", 2)).await?;
    }
    let again = store.delete_not_updated_since(time).await?;
    ensure(again == 0, || {
        format!("{again} conversations were deleted by a second call, expected 0")
    })
}
