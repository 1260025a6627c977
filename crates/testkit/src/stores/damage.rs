//! Damage: a row that cannot be read is reported, and nothing more is lost.

use super::Hook;
use super::case::{Case, Stop, Verdict, ensure, failed, numbered, refused};
use ai_services_core::memory::{
    Change, HistoryPosition, MemoryId, RawRecord, UnreadableProblem, UnreadableRecord,
};
use ai_services_core::message::Messages;
use ai_services_core::{Error, ErrorKind, Result};

super::checks![
    damaged_row_is_reported,
    damaged_conversation_is_not_written,
    damaged_conversation_can_be_exported,
    damaged_conversation_can_be_deleted,
    damage_stays_in_its_conversation,
    row_of_a_newer_version_asks_for_an_update,
];

const MESSAGES: usize = 3;

/// A conversation with a damaged row.
async fn damaged(case: &Case<'_>) -> Verdict<MemoryId> {
    let hook = case.suite().damage.as_ref();
    spoil(case, hook.ok_or(Stop::Skipped("the suite was not told how to `damage` a row"))?).await
}

async fn spoil(case: &Case<'_>, hook: &Hook) -> Verdict<MemoryId> {
    let id = case.id("damaged");
    case.update(&id, &numbered("message", MESSAGES)).await?;
    hook(id.clone()).await.map_err(|error| failed(format!("the test itself failed: {error}")))?;
    Ok(id)
}

/// Everything that is stored, if the store can tell.
async fn rows(case: &Case<'_>, id: &MemoryId) -> Verdict<Option<Vec<RawRecord>>> {
    let Ok(store) = case.conversations() else { return Ok(None) };
    let mut rows = store
        .export_raw(id)
        .await
        .map_err(Stop::from)
        .map_err(|stop| stop.about("`export_raw`"))?;
    rows.sort_by(|one, other| one.row.cmp(&other.row));
    Ok(Some(rows))
}

/// Checks that an operation reports a row of this id that cannot be read.
fn reported<T>(what: &str, id: &MemoryId, outcome: Result<T>) -> Verdict<Error> {
    let error = refused(what, outcome, ErrorKind::Store)?;
    let Some(record) = error.detail::<UnreadableRecord>() else {
        return Err(failed(format!("the error of {what} has no `UnreadableRecord`: {error}")));
    };
    ensure(record.id == *id, || format!("{what} names the conversation `{}`", record.id))?;
    ensure(!record.row.is_empty(), || format!("{what} does not name the row"))?;
    Ok(error)
}

async fn damaged_row_is_reported(case: &Case<'_>) -> Verdict {
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

async fn damaged_conversation_is_not_written(case: &Case<'_>) -> Verdict {
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
    ensure(after == before, || "a write that was refused changed the rows".into())?;
    reported("`load` afterwards", &id, case.store().load(&id).await).map(drop)
}

async fn damaged_conversation_can_be_exported(case: &Case<'_>) -> Verdict {
    case.conversations()?;
    let id = damaged(case).await?;
    let count = rows(case, &id).await?.map_or(0, |rows| rows.len());
    ensure(count >= MESSAGES, || format!("of {MESSAGES} messages {count} rows are exported"))?;
    // To list conversations nobody has to read them.
    let known = case.conversations()?.conversation(&id).await?;
    ensure(known.is_some(), || "a damaged conversation is not known any more".into())
}

async fn damaged_conversation_can_be_deleted(case: &Case<'_>) -> Verdict {
    let id = damaged(case).await?;
    case.store().delete_messages(&id).await?;
    case.expect(&id, &[]).await?;
    let left = rows(case, &id).await?.map_or(0, |rows| rows.len());
    ensure(left == 0, || format!("{left} rows are left after deletion"))?;
    case.update(&id, &numbered("again", 2)).await?;
    case.expect(&id, &numbered("again", 2)).await
}

async fn damage_stays_in_its_conversation(case: &Case<'_>) -> Verdict {
    damaged(case).await?;
    let other = case.id("other");
    case.update(&other, &numbered("other", 2)).await?;
    case.expect(&other, &numbered("other", 2)).await?;
    case.append(&other, numbered("more", 2)).await?;
    case.expect(&other, &[numbered("other", 2), numbered("more", 2)].concat()).await
}

async fn row_of_a_newer_version_asks_for_an_update(case: &Case<'_>) -> Verdict {
    let hook = case.suite().newer_format.as_ref();
    let hook = hook.ok_or(Stop::Skipped("the suite was not told how to write a `newer_format`"))?;
    let id = spoil(case, hook).await?;
    let before = rows(case, &id).await?;
    let error = reported("`load`", &id, case.store().load(&id).await)?;
    let problem = error.detail::<UnreadableRecord>().map(|record| &record.problem);
    ensure(matches!(problem, Some(UnreadableProblem::Newer { .. })), || {
        format!("the problem must be a newer version, but is {problem:?}")
    })?;
    let outcome = case.store().update_messages(&id, &numbered("new", 1)).await;
    reported("`update_messages`", &id, outcome)?;
    ensure(rows(case, &id).await? == before, || "a write that was refused changed the rows".into())
}
