//! Checks of histories, which include evicted messages.

use super::case::{Case, CheckResult, ensure, numbered, same};
use ai_services_core::memory::{Change, EvictedMessages, HistoryEntry, HistoryPosition, MemoryId};
use ai_services_core::message::ChatMessage;
use std::collections::HashMap;

super::checks![
    history_of_an_unknown_id_is_empty,
    history_matches_the_eviction_policy,
    history_positions_are_stable,
    history_is_paged_from_both_ends,
    replacement_keeps_unchanged_messages,
    deletion_clears_the_history,
];

/// More messages than any check has.
const ALL: usize = 1_000;

async fn all(case: &Case<'_>, id: &MemoryId) -> CheckResult<Vec<HistoryEntry>> {
    let entries = case.conversations()?.history(id, HistoryPosition::Oldest, ALL).await?;
    let is_ascending = entries.is_sorted_by(|one, next| one.position < next.position);
    ensure(is_ascending, || "the positions of a history are not ascending".into())?;
    Ok(entries)
}

fn letters(text: &str) -> Vec<ChatMessage> {
    text.chars().map(|c| ChatMessage::user(c.to_string())).collect()
}

/// Checks the history and the messages of a conversation. `kept` is the history of a store that keeps evicted
/// messages, which are upper-case letters; a store that forgets them has only the lower-case letters.
async fn expect(case: &Case<'_>, id: &MemoryId, kept: &str) -> CheckResult {
    let found = all(case, id).await?;
    let forgets = case.suite().evicted_messages == EvictedMessages::Delete;
    let expected = kept.chars().filter(|c| !forgets || c.is_lowercase());
    let (expected, evicted): (String, Vec<bool>) =
        expected.map(|c| (c.to_ascii_lowercase(), c.is_uppercase())).unzip();
    let messages: Vec<_> = found.iter().map(|entry| entry.message.clone()).collect();
    same("`history`", &messages, &letters(&expected))?;
    let flags: Vec<_> = found.iter().map(|entry| entry.is_evicted).collect();
    ensure(flags == evicted, || {
        format!("the `is_evicted` flags are {flags:?}, expected {evicted:?}")
    })?;
    let current = kept.chars().filter(|c| c.is_lowercase()).collect::<String>();
    case.expect(id, &letters(&current)).await
}

async fn history_of_an_unknown_id_is_empty(case: &Case<'_>) -> CheckResult {
    use HistoryPosition::{After, Before, Newest, Oldest};
    let store = case.conversations()?;
    let (id, other) = (case.id("unknown"), case.id("known"));
    case.update(&other, &letters("abc")).await?;
    for position in [Oldest, After(0), Newest, Before(u64::MAX)] {
        let found = store.history(&id, position, 10).await?;
        ensure(found.is_empty(), || format!("an unknown id has the history {found:?}"))?;
    }
    Ok(())
}

async fn history_matches_the_eviction_policy(case: &Case<'_>) -> CheckResult {
    case.conversations()?;
    let (id, other) = (case.id("a"), case.id("b"));
    case.update(&other, &letters("xyz")).await?;
    let changes = [
        (0..0, "abcd", "abcd"),
        (0..2, "ef", "ABcdef"),
        (1..2, "", "ABcDef"),
        (0..0, "g", "ABcDefg"),
        (0..100, "", "ABCDEFG"),
        (0..0, "h", "ABCDEFGh"),
        (0..1, "i", "ABCDEFGHi"),
    ];
    for (evicted, added, expected) in changes {
        case.commit(&id, Change::advance(None, evicted, letters(added))).await?;
        expect(case, &id, expected).await?;
    }
    let loaded = case.handle(0).load(&id).await?;
    case.commit(&id, loaded.change(0..1, letters("j"))).await?;
    expect(case, &id, "ABCDEFGHIj").await?;
    expect(case, &other, "xyz").await
}

async fn history_positions_are_stable(case: &Case<'_>) -> CheckResult {
    case.conversations()?;
    let id = case.id("");
    let mut known: HashMap<u64, ChatMessage> = HashMap::new();
    let mut newest = 0;
    for step in 0..12 {
        let change = match step % 4 {
            0 | 1 => Change::advance(None, 0..step / 4, numbered(&format!("step {step}"), 3)),
            2 => Change::advance(None, 1..2, Vec::new()),
            // Keeps the newest messages.
            _ => {
                let kept = case.store().get_messages(&id).await?.into_iter().skip(1);
                let new = numbered(&format!("step {step}"), 1);
                Change::replace(None, kept.chain(new).collect())
            }
        };
        case.commit(&id, change).await?;
        let previous = newest;
        for HistoryEntry { position, message, .. } in all(case, &id).await? {
            newest = newest.max(position);
            match known.insert(position, message.clone()) {
                Some(before) => same("a second read of a position", &[message], &[before])?,
                None => ensure(position > previous, || {
                    format!("a new message has the position {position} after {previous}")
                })?,
            }
        }
    }
    Ok(())
}

async fn history_is_paged_from_both_ends(case: &Case<'_>) -> CheckResult {
    use HistoryPosition::{After, Before, Newest, Oldest};
    let store = case.conversations()?;
    let id = case.id("");
    for step in 0..6 {
        let evicted = if step % 2 == 0 { 0..0 } else { 1..3 };
        case.commit(&id, Change::advance(None, evicted, numbered(&format!("{step}"), 3))).await?;
    }
    let everything = all(case, &id).await?;
    for limit in [1, 2, 3, everything.len(), everything.len() + 1, usize::MAX] {
        let mut forwards: Vec<HistoryEntry> = Vec::new();
        let mut backwards: Vec<HistoryEntry> = Vec::new();
        loop {
            let position = forwards.last().map_or(Oldest, |last| After(last.position));
            let page = store.history(&id, position, limit).await?;
            full(position, limit, page.len(), everything.len() - forwards.len())?;
            if page.is_empty() {
                break;
            }
            forwards.extend(page);
        }
        loop {
            let position = backwards.first().map_or(Newest, |first| Before(first.position));
            let page = store.history(&id, position, limit).await?;
            full(position, limit, page.len(), everything.len() - backwards.len())?;
            if page.is_empty() {
                break;
            }
            backwards.splice(0..0, page);
        }
        for (found, direction) in [(forwards, "forwards"), (backwards, "backwards")] {
            ensure(found == everything, || {
                format!(
                    "read {direction} with a limit of {limit}, the history is {found:?}, expected {everything:?}"
                )
            })?;
        }
    }
    let ends = [
        (After(0), &*everything),
        (Before(u64::MAX), &everything),
        (After(u64::MAX), &[]),
        (Before(0), &[]),
    ];
    for (position, expected) in ends {
        let found = store.history(&id, position, ALL).await?;
        ensure(found == expected, || {
            format!("{position:?} returns {} messages, expected {}", found.len(), expected.len())
        })?;
    }
    Ok(())
}

/// Checks the length of a page.
fn full(position: HistoryPosition, limit: usize, length: usize, left: usize) -> CheckResult {
    ensure(length == limit.min(left), || {
        format!(
            "a page at {position:?} with a limit of {limit} has {length} messages; {left} are left"
        )
    })
}

async fn replacement_keeps_unchanged_messages(case: &Case<'_>) -> CheckResult {
    case.conversations()?;
    let id = case.id("");
    let lists = [
        ("abc", "abc"),
        ("bcd", "Abcd"),
        ("bcd", "Abcd"),
        ("bd", "AbCd"),
        ("", "ABCD"),
        ("e", "ABCDe"),
    ];
    let mut positions = HashMap::new();
    for (list, expected) in lists {
        case.update(&id, &letters(list)).await?;
        expect(case, &id, expected).await?;
        for entry in all(case, &id).await? {
            let text = entry.message.text().unwrap_or_default().to_owned();
            let position = *positions.entry(text).or_insert(entry.position);
            ensure(position == entry.position, || {
                format!("an unchanged message moves from position {position} to {}", entry.position)
            })?;
        }
    }
    Ok(())
}

async fn deletion_clears_the_history(case: &Case<'_>) -> CheckResult {
    case.conversations()?;
    let (id, other) = (case.id("a"), case.id("b"));
    for id in [&id, &other] {
        case.update(id, &letters("abcd")).await?;
        case.commit(id, Change::advance(None, 0..2, letters("e"))).await?;
    }
    case.store().delete_messages(&id).await?;
    expect(case, &id, "").await?;
    case.append(&id, letters("fg")).await?;
    expect(case, &id, "fg").await?;
    expect(case, &other, "ABcde").await
}
