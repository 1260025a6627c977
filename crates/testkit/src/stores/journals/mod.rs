//! Checks of the journals of open turns.

mod appends;
mod commits;
mod lists;

use super::case::{Case, CheckResult, Stop, ensure, failed};
use super::{NamedCheck, case, checks, conversations, samples};
use ai_services_core::memory::{MemoryId, TurnId, TurnJournal, TurnJournals};

pub(super) const APPENDS: &[NamedCheck] = appends::CHECKS;
pub(super) const COMMITS: &[NamedCheck] = commits::CHECKS;
pub(super) const LISTS: &[NamedCheck] = lists::CHECKS;

/// Returns the journals of both handles; skips the check if the store has none.
fn both<'a>(case: &Case<'a>) -> CheckResult<[&'a dyn TurnJournals; 2]> {
    let first = case.store().journals();
    let first = first.ok_or(Stop::Skipped("the store has no journals"))?;
    let second = case.second().journals();
    let second = second.ok_or_else(|| failed("the second handle has no journals"))?;
    Ok([first, second])
}

/// Returns `count` distinct records.
fn records(name: &str, count: usize) -> Vec<String> {
    (0..count).map(|number| format!("{{\"{name}\":{number}}}")).collect()
}

/// Opens a journal of a new turn.
async fn open(case: &Case<'_>, id: &MemoryId, records: &[String]) -> CheckResult<TurnJournal> {
    let [journals, _] = both(case)?;
    let mut journal = TurnJournal::new(TurnId::new(), Vec::new());
    extend(journals, id, &mut journal, records).await?;
    Ok(journal)
}

/// Appends records to a journal.
async fn extend(
    journals: &dyn TurnJournals,
    id: &MemoryId,
    journal: &mut TurnJournal,
    records: &[String],
) -> CheckResult {
    let position = journals.append(id, journal.position(), records, None).await?;
    journal.records.extend_from_slice(records);
    let expected = journal.position();
    ensure(position == expected, || {
        format!("`append` returns the position {position}, expected {expected}")
    })
}

/// Checks that a conversation has exactly this open journal, with both handles.
async fn expect(case: &Case<'_>, id: &MemoryId, expected: Option<&TurnJournal>) -> CheckResult {
    for journals in both(case)? {
        let found = journals.journal(id).await?;
        same(found.as_ref(), expected)?;
    }
    Ok(())
}

/// Checks that two journals are equal. The records may have megabytes, so the message does not show them.
fn same(found: Option<&TurnJournal>, expected: Option<&TurnJournal>) -> CheckResult {
    if found == expected {
        return Ok(());
    }
    let position = |journal: Option<&TurnJournal>| {
        journal.map_or("no journal".into(), |journal| journal.position().to_string())
    };
    let record =
        |journal: Option<&TurnJournal>, at| journal.and_then(|it| it.records.get(at).cloned());
    let differs = (0..).take(1_000).find(|at| record(found, *at) != record(expected, *at));
    let (found, expected) = (position(found), position(expected));
    let differs = differs.map_or(String::new(), |at| format!("; record {at} differs"));
    Err(failed(format!("the journal is {found}, expected {expected}{differs}")))
}
