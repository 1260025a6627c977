//! Windows with a summary in front of the history.

use crate::memory::{
    ApproximateCounter, ChatMemory, ChatMemoryStore, CompletedTurn, InMemoryChatMemoryStore,
    MessageWindowChatMemory, Numbers, Snapshot, Summarizer, TokenCountEstimator,
    TokenWindowChatMemory, history,
};
use crate::message::{AiMessage, ChatMessage, ToolCall, ToolResult};
use crate::testing::ScriptedChatModel;
use proptest::prelude::*;
use std::sync::Arc;

fn user(text: &str) -> ChatMessage {
    ChatMessage::user(text)
}

/// A user message, rounds of one tool call each, an answer.
fn turn(name: &str, rounds: usize) -> Vec<ChatMessage> {
    let round = || {
        let call = AiMessage::builder().tool_calls([ToolCall::new("1", "t", "{}")]).build();
        [call.into(), ToolResult::new("1", "t", "result").into()]
    };
    let rounds = std::iter::repeat_with(round).take(rounds).flatten();
    let answer = ChatMessage::ai(format!("answer {name}"));
    std::iter::once(user(name)).chain(rounds).chain([answer]).collect()
}

fn snapshot(messages: Vec<ChatMessage>) -> Snapshot {
    Snapshot::new(messages, None).into_turns().0
}

fn texts<'a>(messages: impl IntoIterator<Item = &'a ChatMessage>) -> Vec<&'a str> {
    messages.into_iter().filter_map(ChatMessage::text).collect()
}

const QUESTION: &str = "Summarize our conversation up to this point.";

#[test]
fn folded_messages_are_replaced_by_the_summary() {
    let system = ChatMessage::system("Be brief.");
    let messages = [vec![system], turn("a", 1), turn("b", 0)].concat();
    let folded = snapshot(messages).fold(4, Some("a summary"));
    let expected = ["Be brief.", QUESTION, "a summary", "b", "answer b"];
    assert_eq!(texts(folded.messages()), expected);
    assert_eq!(texts(folded.history()), ["b", "answer b"]);
    assert_eq!((folded.summary(), folded.start()), (Some("a summary"), 3));
    assert!(history::is_complete(folded.messages()));
    let again = folded.fold(9, Some("another"));
    assert_eq!(texts(again.messages()), ["Be brief.", QUESTION, "another"]);
    assert_eq!(texts(again.fold(0, None).messages()), ["Be brief."]);
}

#[test]
fn fold_takes_half_of_the_messages_that_fit() {
    let history = snapshot([turn("a", 0), turn("b", 1), turn("c", 0), turn("d", 0)].concat());
    let lengths = [0, 2, 6, 8, 10, 12].map(|skipped| history.fold_length(skipped));
    assert_eq!(lengths, [6, 6, 8, 10, 10, 10]);
    assert_eq!(Snapshot::default().fold_length(0), 0);
}

#[test]
fn commit_evicts_the_folded_messages_and_stores_the_summary() {
    let system = ChatMessage::system("Be brief.");
    let messages = [vec![system], turn("a", 1), turn("b", 0)].concat();
    let numbered = Snapshot::new(messages, Some(7)).with_numbers((11..18).collect::<Numbers>());
    let folded = numbered.into_turns().0.fold(4, Some("a summary"));
    let change = CompletedTurn::new(folded, None, turn("c", 0)).into_change(0);
    assert_eq!(change.evicted(), Some(1..5));
    assert_eq!(change.evicted_numbers(), Some(&[12, 13, 14, 15][..]));
    assert_eq!(change.oldest_kept_numbers(), Some([Some(11), Some(16)]));
    let appended: Vec<_> = change.appended().cloned().collect();
    assert_eq!(texts(&appended), ["c", "answer c"]);
    assert_eq!(Summarizer::summary_of(&appended), Some("a summary"));
}

#[test]
fn summary_moves_to_the_new_turn_only_if_its_message_is_evicted() {
    let folded = snapshot([turn("a", 0), turn("b", 0)].concat()).fold(2, Some("a summary"));
    let stored = CompletedTurn::new(folded, None, turn("c", 0)).into_messages(0);
    assert_eq!(texts(&stored), ["b", "answer b", "c", "answer c"]);
    let loaded = snapshot(stored).with_summary();
    assert_eq!(loaded.summary(), Some("a summary"));
    for (evict, is_moved) in [(0, false), (2, false), (4, true)] {
        let messages = CompletedTurn::new(loaded.clone(), None, turn("d", 0)).into_messages(evict);
        assert_eq!(Summarizer::summary_of(&messages), Some("a summary"));
        let of_turn = Summarizer::summary_of(&messages[messages.len() - 2..]);
        assert_eq!(of_turn.is_some(), is_moved, "{evict}");
    }
}

#[test]
fn repaired_history_is_replaced_with_its_summary() {
    let broken = [turn("a", 0), vec![user("unanswered")], turn("b", 0)].concat();
    let folded = snapshot(broken).fold(2, Some("a summary"));
    let change = CompletedTurn::new(folded, None, turn("c", 0)).into_change(0);
    assert!(change.is_replacement());
    let stored: Vec<_> = change.appended().cloned().collect();
    assert_eq!(texts(&stored), ["b", "answer b", "c", "answer c"]);
    assert_eq!(Summarizer::summary_of(&stored), Some("a summary"));
}

#[test]
fn window_leaves_out_the_summary_last() {
    let memory = MessageWindowChatMemory::with_max_messages;
    let folded = snapshot([turn("a", 0), turn("b", 0)].concat()).fold(0, Some("a summary"));
    let skipped = [8, 7, 6, 5, 4, 3, 2].map(|max| memory(max).fit(&folded, None, &[user("c")]));
    assert_eq!(skipped.map(Result::unwrap), [0, 0, 2, 2, 4, 4, 6]);
    let sent = |skipped| {
        let (messages, first) = folded.sent(skipped);
        texts(messages.iter_from(first)).join(" ")
    };
    assert_eq!(sent(0), format!("{QUESTION} a summary a answer a b answer b"));
    assert_eq!(sent(2), format!("{QUESTION} a summary b answer b"));
    assert_eq!(sent(4), format!("{QUESTION} a summary"));
    assert_eq!(sent(6), "");
}

#[test]
fn token_window_counts_the_summary() {
    let maximum =
        |max| TokenWindowChatMemory::builder().max_tokens(max, ApproximateCounter).build().unwrap();
    let history = [turn("a", 0), turn("b", 0)].concat();
    let folded = snapshot(history).fold(0, Some("a summary of several words"));
    let turn = [user("c")];
    let all: Vec<_> = folded.messages().iter().chain(&turn).cloned().collect();
    let size = ApproximateCounter.count_messages(&all).unwrap();
    assert_eq!(maximum(size).fit(&folded, None, &turn).unwrap(), 0);
    assert_eq!(maximum(size - 1).fit(&folded, None, &turn).unwrap(), 2);
}

fn memory(max: usize, store: &InMemoryChatMemoryStore) -> Arc<dyn ChatMemory> {
    let builder = MessageWindowChatMemory::builder().max_messages(max).store(store.clone());
    let summarizer = Summarizer::new(ScriptedChatModel::replies([""; 0]));
    Arc::new(builder.summarizer(summarizer).build().unwrap())
}

/// Commits turns, each with a fold of arbitrary length before it, and compares the stored messages with a list.
async fn commit_turns(turns: Vec<(usize, Option<usize>, Option<u8>)>) {
    let store = InMemoryChatMemoryStore::new();
    let mut expected: Vec<ChatMessage> = Vec::new();
    let mut summary: Option<String> = None;
    for (number, (rounds, fold, text)) in turns.into_iter().enumerate() {
        let memory = memory(100, &store);
        let mut loaded = memory.load().await.unwrap().into_turns().0.with_summary();
        assert_eq!(loaded.summary(), summary.as_deref());
        if let Some(skipped) = fold {
            let count = loaded.fold_length(skipped).min(expected.len());
            summary = text.map(|text| format!("summary {text}")).or(summary);
            loaded = loaded.fold(count, summary.as_deref());
            expected.drain(..count);
        }
        assert!(history::is_complete(loaded.messages()));
        let turn = turn(&format!("{number}"), rounds);
        expected.extend(turn.iter().cloned());
        memory.commit(CompletedTurn::new(loaded, None, turn)).await.unwrap();
        let stored = store.get_messages(memory.id()).await.unwrap();
        assert_eq!(texts(&stored), texts(&expected));
        assert_eq!(Summarizer::summary_of(&stored), summary.as_deref());
    }
}

proptest! {
    #[test]
    fn stored_summary_is_the_newest_one(
        turns in prop::collection::vec(
            (0_usize..3, prop::option::of(0_usize..8), prop::option::of(any::<u8>())),
            1..30,
        ),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(commit_turns(turns));
    }
}
