//! Checks of the operations on conversations: list, count, export, clean-up.

use super::case::{Case, CheckResult, Stop, ensure, failed, numbered, rejected};
use ai_services_core::ErrorKind;
use ai_services_core::memory::{
    Change, Conversation, EvictedMessages, HistoryPosition, LeaseToken, MemoryId,
};
use std::collections::{HashMap, HashSet};
use std::time::{Duration, SystemTime};
use tokio::time::sleep;

super::checks![
    messages_are_counted,
    conversations_are_listed_once,
    empty_conversation_is_not_listed,
    last_use_is_updated_by_changes,
    page_size_zero_is_rejected,
    export_contains_every_row,
    recently_used_conversations_are_kept,
    unused_conversations_are_deleted,
];

/// Maximum deviation of a clock.
pub(super) const TOLERANCE: Duration = Duration::from_secs(10);

/// A pause after which two times differ in milliseconds.
pub(super) const PAUSE: Duration = Duration::from_millis(15);

async fn messages_are_counted(case: &Case<'_>) -> CheckResult {
    let store = case.conversations()?;
    let (id, other) = (case.id("a"), case.id("b"));
    case.update(&other, &numbered("other", 1)).await?;
    let unknown = store.conversation(&id).await?;
    ensure(unknown.is_none(), || format!("`conversation` of an unknown id returns {unknown:?}"))?;
    let changes = [
        (Change::advance(None, 0..0, numbered("a", 5)), 5),
        (Change::advance(None, 0..2, numbered("b", 4)), 7),
        (Change::advance(None, 3..4, Vec::new()), 6),
        (Change::advance(None, 5..100, Vec::new()), 5),
        (Change::replace(None, numbered("c", 3).into()), 3),
    ];
    for (change, expected) in changes {
        case.commit(&id, change).await?;
        let found = store.conversation(&id).await?;
        ensure(found.as_ref().is_some_and(|c| c.id == id && c.messages == expected), || {
            format!("a conversation with {expected} messages is returned as {found:?}")
        })?;
    }
    case.store().delete_messages(&id).await?;
    let deleted = store.conversation(&id).await?;
    ensure(deleted.is_none(), || format!("`conversation` of a deleted id returns {deleted:?}"))
}

async fn conversations_are_listed_once(case: &Case<'_>) -> CheckResult {
    const COUNT: usize = 12;
    const LIMIT: usize = 5;
    let store = case.conversations()?;
    let ids: Vec<_> = (0..COUNT).map(|number| case.id(&number.to_string())).collect();
    for (number, id) in ids.iter().enumerate() {
        case.update(id, &numbered("message", 1 + number % 3)).await?;
    }
    let mut listed = HashSet::new();
    let mut after: Option<MemoryId> = None;
    for page in 0.. {
        let found = store.conversations(after.as_ref(), LIMIT).await?;
        ensure(found.len() <= LIMIT, || {
            format!("a page with a limit of {LIMIT} has {} conversations", found.len())
        })?;
        let Some(last) = found.last() else { break };
        after = Some(last.id.clone());
        for conversation in found {
            let id = conversation.id;
            ensure(listed.insert(id.clone()), || format!("`{id}` is listed twice"))?;
        }
        // Meanwhile, other conversations are added, changed and deleted.
        if let Some(id) = ids.get(page) {
            case.append(id, numbered("more", 1)).await?;
            case.update(&case.id(&format!("new {page}")), &numbered("new", 1)).await?;
        }
        if let Some(id) = after.as_ref().filter(|id| case.owns(id) && !ids.contains(id)) {
            case.store().delete_messages(id).await?;
        }
    }
    let missing = ids.iter().find(|id| !listed.contains(*id));
    ensure(missing.is_none(), || format!("`{missing:?}` is not listed"))?;

    // The last conversation of a page may be deleted before the next page is read.
    let all = listing(case, None).await?;
    let Some((cursor, rest)) = all.get(COUNT / 2..).and_then(<[_]>::split_first) else {
        return Err(failed("the list is too short"));
    };
    case.store().delete_messages(&cursor.id).await?;
    let found = listing(case, Some(cursor.id.clone())).await?;
    ensure(found == rest, || {
        format!("the page after a deleted conversation is {found:?}, expected {rest:?}")
    })
}

/// Returns the listed conversations of this check after `after`; checks that `conversation` agrees.
async fn listing(case: &Case<'_>, mut after: Option<MemoryId>) -> CheckResult<Vec<Conversation>> {
    const LIMIT: usize = 100;
    let store = case.conversations()?;
    let mut own = Vec::new();
    loop {
        let page = store.conversations(after.as_ref(), LIMIT).await?;
        let Some(last) = page.last() else { break };
        ensure(after.as_ref() != Some(&last.id), || "the same page is returned twice".into())?;
        after = Some(last.id.clone());
        own.extend(page.into_iter().filter(|conversation| case.owns(&conversation.id)));
    }
    for listed in &own {
        let single = store.conversation(&listed.id).await?;
        ensure(single.as_ref() == Some(listed), || {
            format!("a conversation is listed as {listed:?}, but `conversation` returns {single:?}")
        })?;
    }
    Ok(own)
}

async fn empty_conversation_is_not_listed(case: &Case<'_>) -> CheckResult {
    let store = case.conversations()?;
    let (emptied, never, full) = (case.id("emptied"), case.id("never"), case.id("full"));
    let leased = case.id("leased");
    for id in [&emptied, &full] {
        case.update(id, &numbered("message", 2)).await?;
    }
    case.update(&emptied, &[]).await?;
    case.commit(&never, Change::advance(None, 0..0, Vec::new())).await?;
    if let Ok((leases, _)) = case.leases() {
        leases.acquire(&leased, LeaseToken::new()).await?;
    }
    let listed: HashMap<_, _> =
        listing(case, None).await?.into_iter().map(|c| (c.id, c.messages)).collect();
    ensure(listed.get(&full) == Some(&2), || "a conversation is not listed".into())?;
    ensure(!listed.contains_key(&never) && !listed.contains_key(&leased), || {
        "a conversation that never had messages is listed".into()
    })?;
    // The history of an emptied conversation can still be read if evicted messages are kept.
    let expected = match case.suite().evicted_messages {
        EvictedMessages::Keep => Some(&0),
        EvictedMessages::Delete => None,
    };
    let found = listed.get(&emptied);
    ensure(found == expected, || {
        format!("an emptied conversation is listed with {found:?} messages, expected {expected:?}")
    })?;
    for id in [&emptied, &never, &leased] {
        let messages = store.conversation(id).await?.map_or(0, |found| found.messages);
        ensure(messages == 0, || format!("an empty conversation has {messages} messages"))?;
    }
    Ok(())
}

async fn last_use_is_updated_by_changes(case: &Case<'_>) -> CheckResult {
    let store = case.conversations()?;
    let id = case.id("");
    let last_updated = async || match store.conversation(&id).await? {
        Some(conversation) => Ok(conversation.last_updated),
        None => Err(failed("the conversation is unknown")),
    };
    case.append(&id, numbered("message", 2)).await?;
    let mut previous = last_updated().await?;
    let now = SystemTime::now();
    let off = now.duration_since(previous).unwrap_or_else(|error| error.duration());
    ensure(off < TOLERANCE, || format!("the time of the last use is off by {off:?}"))?;
    let changes = [
        ("an append", Change::advance(None, 0..0, numbered("more", 1))),
        ("an eviction", Change::advance(None, 0..1, Vec::new())),
        ("a replacement", Change::replace(None, numbered("new", 1).into())),
        ("an equal replacement", Change::replace(None, numbered("new", 1).into())),
    ];
    for (name, change) in changes {
        sleep(PAUSE).await;
        case.commit(&id, change).await?;
        let changed = last_updated().await?;
        ensure(changed > previous, || format!("{name} does not update the time of the last use"))?;
        sleep(PAUSE).await;
        case.expect(&id, &case.store().get_messages(&id).await?).await?;
        store.history(&id, HistoryPosition::Oldest, 10).await?;
        let read = last_updated().await?;
        ensure(read == changed, || "a read updates the time of the last use".into())?;
        previous = changed;
    }
    Ok(())
}

async fn page_size_zero_is_rejected(case: &Case<'_>) -> CheckResult {
    let store = case.conversations()?;
    let id = case.id("");
    case.update(&id, &numbered("message", 2)).await?;
    let page = store.conversations(None, 0).await;
    rejected("a page of 0 conversations", page, ErrorKind::Configuration)?;
    let page = store.history(&id, HistoryPosition::Newest, 0).await;
    rejected("a page of 0 messages", page, ErrorKind::Configuration)?;
    Ok(())
}

async fn export_contains_every_row(case: &Case<'_>) -> CheckResult {
    let store = case.conversations()?;
    let (id, other) = (case.id("a"), case.id("b"));
    let rows = store.export_raw(&id).await?.len();
    ensure(rows == 0, || format!("an unknown conversation has {rows} rows"))?;
    case.update(&other, &numbered("other", 1)).await?;
    case.update(&id, &numbered("message", 5)).await?;
    case.commit(&id, Change::advance(None, 0..2, numbered("more", 1))).await?;
    let kept = if case.suite().evicted_messages == EvictedMessages::Keep { 6 } else { 4 };
    let rows = store.export_raw(&id).await?;
    let (count, data) = (rows.len(), rows.iter().map(|row| row.data.len()).sum::<usize>());
    ensure(count >= kept && data > 0, || {
        format!("{count} rows with {data} bytes are exported for {kept} messages")
    })?;
    let names: HashSet<_> = rows.iter().map(|row| &row.row).collect();
    ensure(names.len() == count, || {
        format!("{count} rows have only {} distinct names", names.len())
    })?;
    case.store().delete_messages(&id).await?;
    let rows = store.export_raw(&id).await?;
    ensure(rows.is_empty(), || {
        let names: Vec<_> = rows.iter().map(|row| &row.row).collect();
        format!("rows are left after deletion: {names:?}")
    })
}

async fn recently_used_conversations_are_kept(case: &Case<'_>) -> CheckResult {
    let store = case.conversations()?;
    let id = case.id("");
    case.update(&id, &numbered("message", 2)).await?;
    let early = SystemTime::UNIX_EPOCH.checked_sub(Duration::from_secs(86_400));
    for time in [Some(SystemTime::UNIX_EPOCH), early].into_iter().flatten() {
        let deleted = store.delete_not_updated_since(time).await?;
        ensure(deleted == 0, || {
            format!("{deleted} conversations unused since 1970 or earlier were deleted, expected 0")
        })?;
    }
    case.expect(&id, &numbered("message", 2)).await
}

async fn unused_conversations_are_deleted(case: &Case<'_>) -> CheckResult {
    const OLD: usize = 30;
    let store = case.conversations()?;
    if !case.suite().disposable {
        return Err(Stop::Skipped("the store is not declared `disposable`"));
    }
    let old: Vec<_> = (0..OLD).map(|number| case.id(&format!("old {number}"))).collect();
    let (changed, new) = (case.id("changed"), case.id("new"));
    for id in old.iter().chain([&changed]) {
        case.update(id, &numbered("message", 3)).await?;
        case.commit(id, Change::advance(None, 0..1, Vec::new())).await?;
    }
    sleep(PAUSE).await;
    case.update(&new, &numbered("new", 1)).await?;
    // A conversation that was last used at exactly this time is kept.
    let Some(Conversation { last_updated: time, .. }) = store.conversation(&new).await? else {
        return Err(failed("the conversation is unknown"));
    };
    case.append(&changed, numbered("more", 1)).await?;

    let deleted = store.delete_not_updated_since(time).await?;
    ensure(deleted >= OLD as u64, || format!("{deleted} of {OLD} old conversations were deleted"))?;
    for id in &old {
        case.expect(id, &[]).await?;
        let history = store.history(id, HistoryPosition::Oldest, 10).await?;
        ensure(history.is_empty(), || "the history of a deleted conversation still exists".into())?;
    }
    case.expect(&new, &numbered("new", 1)).await?;
    let mut expected = numbered("message", 3);
    expected.remove(0);
    expected.extend(numbered("more", 1));
    case.expect(&changed, &expected).await?;
    let again = store.delete_not_updated_since(time).await?;
    ensure(again == 0, || {
        format!("{again} conversations were deleted by a second call, expected 0")
    })
}
