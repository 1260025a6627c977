//! Checks of damaged rows: they are reported, and no other data is lost.

use super::Hook;
use super::case::{Case, CheckResult, Stop, ensure, failed, numbered, rejected};
use ai_services_core::memory::{
    Change, HistoryPosition, MemoryId, RawRecord, UnreadableProblem, UnreadableRecord,
};
use ai_services_core::message::Messages;
use ai_services_core::{Error, ErrorKind, Result};

super::checks![
    damaged_row_is_reported,
    damaged_conversation_is_not_overwritten,
    damaged_conversation_can_be_exported,
    damaged_conversation_can_be_deleted,
    damage_does_not_affect_other_conversations,
    newer_row_format_is_reported,
];

/// Enough messages that a store with a cache does not read all of them for each load.
const MESSAGES: usize = 12;

/// Creates a conversation with a damaged row; skips the check without a `damage` function.
async fn damaged(case: &Case<'_>) -> CheckResult<MemoryId> {
    let hook = case.suite().damage.as_ref();
    damage_with(case, hook.ok_or(Stop::Skipped("the option `damage` is not set"))?).await
}

async fn damage_with(case: &Case<'_>, hook: &Hook) -> CheckResult<MemoryId> {
    let id = case.id("damaged");
    let messages = numbered("message", MESSAGES);
    case.update(&id, &messages).await?;
    // A cache of loaded conversations does not hide the damage.
    case.expect(&id, &messages).await?;
    hook(id.clone())
        .await
        .map_err(|error| failed(format!("the function of the suite failed: {error}")))?;
    Ok(id)
}

/// Returns all stored rows, if the store can export them.
async fn rows(case: &Case<'_>, id: &MemoryId) -> CheckResult<Option<Vec<RawRecord>>> {
    let Ok(store) = case.conversations() else { return Ok(None) };
    let mut rows = store
        .export_raw(id)
        .await
        .map_err(Stop::from)
        .map_err(|stop| stop.about("`export_raw`"))?;
    rows.sort_by(|one, other| one.row.cmp(&other.row));
    Ok(Some(rows))
}

/// Checks that an operation reports an unreadable row of this id.
fn reported<T>(operation: &str, id: &MemoryId, outcome: Result<T>) -> CheckResult<Error> {
    let error = rejected(operation, outcome, ErrorKind::Store)?;
    let Some(record) = error.detail::<UnreadableRecord>() else {
        return Err(failed(format!(
            "the error of {operation} has no `UnreadableRecord` detail: {error}"
        )));
    };
    ensure(record.id == *id, || {
        format!("the error of {operation} names the conversation `{}`", record.id)
    })?;
    ensure(!record.row.is_empty(), || format!("the error of {operation} does not name the row"))?;
    Ok(error)
}

async fn damaged_row_is_reported(case: &Case<'_>) -> CheckResult {
    let id = damaged(case).await?;
    for store in [case.store(), case.second()] {
        reported("`load`", &id, store.load(&id).await)?;
        reported("`get_messages`", &id, store.get_messages(&id).await)?;
    }
    if let Ok(store) = case.conversations() {
        for position in [HistoryPosition::Oldest, HistoryPosition::Newest] {
            reported("`history`", &id, store.history(&id, position, 100).await)?;
        }
    }
    Ok(())
}

async fn damaged_conversation_is_not_overwritten(case: &Case<'_>) -> CheckResult {
    let id = damaged(case).await?;
    let before = rows(case, &id).await?;
    let messages = numbered("new", 2);
    let outcome = case.store().update_messages(&id, &messages).await;
    reported("`update_messages`", &id, outcome)?;
    let changes = [Change::replace(None, messages.into()), Change::replace(None, Messages::new())];
    for change in changes {
        reported("a replacement", &id, case.store().commit(&id, change).await)?;
    }
    let after = rows(case, &id).await?;
    ensure(after == before, || "a rejected write changed the rows".into())?;
    reported("`load` afterwards", &id, case.store().load(&id).await).map(drop)
}

async fn damaged_conversation_can_be_exported(case: &Case<'_>) -> CheckResult {
    case.conversations()?;
    let id = damaged(case).await?;
    let count = rows(case, &id).await?.map_or(0, |rows| rows.len());
    ensure(count >= MESSAGES, || format!("{count} rows are exported for {MESSAGES} messages"))?;
    // Conversations can be listed without reading their rows.
    let known = case.conversations()?.conversation(&id).await?;
    ensure(known.is_some(), || "a damaged conversation is not found".into())
}

async fn damaged_conversation_can_be_deleted(case: &Case<'_>) -> CheckResult {
    let id = damaged(case).await?;
    case.store().delete_messages(&id).await?;
    case.expect(&id, &[]).await?;
    let left = rows(case, &id).await?.map_or(0, |rows| rows.len());
    ensure(left == 0, || format!("{left} rows are left after deletion"))?;
    case.update(&id, &numbered("again", 2)).await?;
    case.expect(&id, &numbered("again", 2)).await
}

async fn damage_does_not_affect_other_conversations(case: &Case<'_>) -> CheckResult {
    damaged(case).await?;
    let other = case.id("other");
    case.update(&other, &numbered("other", 2)).await?;
    case.expect(&other, &numbered("other", 2)).await?;
    case.append(&other, numbered("more", 2)).await?;
    case.expect(&other, &[numbered("other", 2), numbered("more", 2)].concat()).await
}

async fn newer_row_format_is_reported(case: &Case<'_>) -> CheckResult {
    let hook = case.suite().newer_format.as_ref();
    let hook = hook.ok_or(Stop::Skipped("the option `newer_format` is not set"))?;
    let id = damage_with(case, hook).await?;
    let before = rows(case, &id).await?;
    let error = reported("`load`", &id, case.store().load(&id).await)?;
    let problem = error.detail::<UnreadableRecord>().map(|record| &record.problem);
    ensure(matches!(problem, Some(UnreadableProblem::Newer { .. })), || {
        format!("the problem must be `Newer`, but is {problem:?}")
    })?;
    let outcome = case.store().update_messages(&id, &numbered("new", 1)).await;
    reported("`update_messages`", &id, outcome)?;
    ensure(rows(case, &id).await? == before, || "a rejected write changed the rows".into())
}
