//! Checks of every store: messages are stored separately for each id.

use super::case::{Case, CheckResult, failed, numbered, rejected, same};
use super::samples::{TEXTS, messages_of_every_kind, unusual_names};
use ai_services_core::ErrorKind;
use ai_services_core::memory::{Change, MemoryId};
use ai_services_core::message::{ChatMessage, Messages};

super::checks![
    unknown_id_has_no_messages,
    messages_of_every_kind_round_trip,
    texts_of_every_script_round_trip,
    order_is_kept_across_commits,
    update_replaces_all_messages,
    eviction_removes_exactly_the_range,
    eviction_range_ignores_gaps,
    deletion_removes_one_conversation,
    unusual_ids_are_distinct,
    empty_id_is_rejected,
    many_messages_round_trip,
    large_message_round_trips,
];

/// Size of a large message in bytes.
const LARGE: usize = 10 * 1024 * 1024;

/// Size of its repeated blocks in bytes.
const BLOCK: usize = 1024;

async fn unknown_id_has_no_messages(case: &Case<'_>) -> CheckResult {
    case.update(&case.id("known"), &numbered("known", 2)).await?;
    case.expect(&case.id("unknown"), &[]).await
}

async fn messages_of_every_kind_round_trip(case: &Case<'_>) -> CheckResult {
    let messages = messages_of_every_kind();
    let (updated, committed) = (case.id("updated"), case.id("committed"));
    case.update(&updated, &messages).await?;
    case.expect(&updated, &messages).await?;
    case.append(&committed, messages.clone()).await?;
    case.expect(&committed, &messages).await
}

async fn texts_of_every_script_round_trip(case: &Case<'_>) -> CheckResult {
    let id = case.id("");
    let messages: Vec<_> = TEXTS.iter().map(|text| ChatMessage::user(*text)).collect();
    case.update(&id, &messages).await?;
    case.expect(&id, &messages).await
}

async fn order_is_kept_across_commits(case: &Case<'_>) -> CheckResult {
    const TURNS: usize = 30;
    let (id, other) = (case.id("a"), case.id("b"));
    for turn in 0..TURNS {
        for id in [&id, &other] {
            let version = case.handle(turn).load(id).await?.version();
            let messages = numbered(&format!("turn {turn}"), 1 + turn % 3);
            case.handle(turn).commit(id, Change::advance(version, 0..0, messages)).await?;
        }
    }
    let all = (0..TURNS).flat_map(|turn| numbered(&format!("turn {turn}"), 1 + turn % 3));
    let all: Vec<_> = all.collect();
    case.expect(&id, &all).await?;
    case.expect(&other, &all).await
}

async fn update_replaces_all_messages(case: &Case<'_>) -> CheckResult {
    let id = case.id("");
    let lists = ["abcd", "cdef", "cdef", "acef", "xy", "yx", "yyx", "yx", "", "", "ab", "abc", "b"];
    for list in lists {
        let messages: Vec<_> = list.chars().map(|c| ChatMessage::user(c.to_string())).collect();
        case.update(&id, &messages).await?;
        case.expect(&id, &messages).await?;
    }
    Ok(())
}

async fn eviction_removes_exactly_the_range(case: &Case<'_>) -> CheckResult {
    const COUNT: usize = 6;
    // The start, after a pinned message, the middle, the end, past the end, everything, an empty range.
    let ranges =
        [0..2, 1..3, 2..4, 5..6, 3..9, 0..6, 0..usize::MAX, 6..7, 9..usize::MAX, 0..0, 3..3];
    let id = case.id("");
    for range in ranges {
        for added in [0, 2] {
            let old = numbered("old", COUNT);
            for is_loaded in [false, true] {
                case.update(&id, &old).await?;
                let new = numbered("new", added);
                let change = if is_loaded {
                    case.handle(0).load(&id).await?.change(range.clone(), new)
                } else {
                    Change::advance(None, range.clone(), new)
                };
                case.commit(&id, change.clone()).await?;
                let mut expected = Messages::from(old.clone());
                change.apply(&mut expected);
                let result = case.expect(&id, &expected.to_vec()).await;
                result.map_err(|stop| stop.about(format_args!("{range:?} of {COUNT}")))?;
            }
        }
    }
    Ok(())
}

async fn eviction_range_ignores_gaps(case: &Case<'_>) -> CheckResult {
    let id = case.id("");
    let mut expected = Messages::new();
    let steps =
        [(0..0, 8), (1..3, 2), (1..2, 2), (3..6, 1), (0..1, 2), (2..4, 3), (0..5, 2), (1..2, 0)];
    for (step, (range, added)) in steps.into_iter().enumerate() {
        let snapshot = case.handle(step).load(&id).await?;
        let change = snapshot.change(range, numbered(&format!("step {step}"), added));
        case.handle(step).commit(&id, change.clone()).await?;
        change.apply(&mut expected);
        case.expect(&id, &expected.to_vec()).await?;
    }
    Ok(())
}

async fn deletion_removes_one_conversation(case: &Case<'_>) -> CheckResult {
    let (id, other, unknown) = (case.id("a"), case.id("b"), case.id("unknown"));
    for id in [&id, &other] {
        case.update(id, &numbered("message", 3)).await?;
    }
    for id in [&id, &id, &unknown] {
        case.store().delete_messages(id).await?;
    }
    case.expect(&id, &[]).await?;
    case.expect(&other, &numbered("message", 3)).await?;
    case.append(&id, numbered("again", 1)).await?;
    case.expect(&id, &numbered("again", 1)).await
}

async fn unusual_ids_are_distinct(case: &Case<'_>) -> CheckResult {
    let conversations = unusual_names().flat_map(|name| {
        // Unusual at one end only, so that a loss at this end is not hidden by the other.
        let ids = [case.id(&name), case.id_starting_with(&name)];
        ids.map(|id| (vec![ChatMessage::user(format!("of {:?}", id.as_str()))], id))
    });
    let conversations: Vec<_> = conversations.collect();
    for (messages, id) in &conversations {
        case.update(id, messages).await?;
    }
    for (messages, id) in &conversations {
        case.expect(id, messages).await?;
    }
    for (_, id) in conversations.iter().step_by(2) {
        case.store().delete_messages(id).await?;
    }
    for (number, (messages, id)) in conversations.iter().enumerate() {
        case.expect(id, if number % 2 == 0 { &[] } else { messages }).await?;
    }
    Ok(())
}

async fn empty_id_is_rejected(case: &Case<'_>) -> CheckResult {
    case.conversations()?;
    let (id, messages) = (MemoryId::from(""), numbered("message", 1));
    let updated = case.store().update_messages(&id, &messages).await;
    rejected("an update of the empty id", updated, ErrorKind::Configuration)?;
    let change = Change::advance(None, 0..0, messages);
    let committed = case.store().commit(&id, change).await;
    rejected("a commit to the empty id", committed, ErrorKind::Configuration)?;
    // Reads may be rejected as well.
    match case.store().get_messages(&id).await {
        Ok(messages) if !messages.is_empty() => Err(failed("a rejected write was stored")),
        _ => Ok(()),
    }
}

async fn many_messages_round_trip(case: &Case<'_>) -> CheckResult {
    let id = case.id("");
    let mut messages = numbered("message", 1_000);
    case.update(&id, &messages).await?;
    case.expect(&id, &messages).await?;
    case.commit(&id, Change::advance(None, 1..11, numbered("new", 10))).await?;
    messages.drain(1..11);
    messages.extend(numbered("new", 10));
    case.expect(&id, &messages).await
}

async fn large_message_round_trips(case: &Case<'_>) -> CheckResult {
    let id = case.id("");
    let lines = (0..LARGE / BLOCK).map(|block| format!("{block:09} \"ä\"\n"));
    let text: String = lines.map(|line| line.repeat(BLOCK / line.len() + 1)).collect();
    let messages = [ChatMessage::user("small"), ChatMessage::user(text), ChatMessage::ai("small")];
    let [first, rest @ ..] = messages.clone();
    case.append(&id, vec![first]).await?;
    case.append(&id, rest.to_vec()).await?;
    // Read only once, because it takes long.
    let loaded = case.second().load(&id).await?.messages().to_vec();
    same("`load`", &loaded, &messages)
}
