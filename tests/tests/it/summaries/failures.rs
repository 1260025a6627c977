//! Summaries that fail, and turns that fail after a summary.

use super::{Assistant, QUESTION, Setup, id, memory, numbered, texts};
use ai_services::ErrorKind;
use ai_services::memory::{ChatMemoryStore, InMemoryChatMemoryStore, Summarizer};
use ai_services::message::AiMessage;
use ai_services::model::{ChatResponse, FinishReason, TokenUsage};
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use futures_util::FutureExt;
use std::time::Duration;

/// A model that makes the same answer to every request.
fn always(answer: fn() -> ScriptedAnswer) -> ScriptedChatModel {
    ScriptedChatModel::from_fn(move |_, _| answer())
}

fn truncated() -> ScriptedAnswer {
    let response = ChatResponse::new(AiMessage::new("The user"));
    response.with_finish_reason(FinishReason::Length).into()
}

/// Checks that a summary of this model counts as failed.
async fn check_eviction(summaries: ScriptedChatModel, event: &str) {
    let setup = Setup::with(4, summaries, |summarizer| {
        summarizer.max_characters(20).timeout(Duration::from_secs(5))
    });
    setup.chat(0..3).await;
    assert_eq!(setup.request(2), ["question 1", "answer 1", "question 2"]);
    assert_eq!(setup.events()[2], event);
    let expected = ["question 1", "answer 1", "question 2", "answer 2"];
    assert_eq!(texts(&setup.stored().await), expected);
    assert_eq!(Summarizer::summary_of(&setup.stored().await), None);
}

#[tokio::test]
async fn failing_summary_evicts() {
    let down = always(|| {
        let error = ScriptedAnswer::error(ErrorKind::Unavailable, "down");
        error.with_usage(TokenUsage::new(5, 0))
    });
    check_eviction(down, "scripted folded 2: Unavailable (5 tokens)").await;
}

#[tokio::test]
async fn panicking_summary_evicts() {
    let panicking = ScriptedChatModel::from_fn(|_, _| panic!("out of order"));
    check_eviction(panicking, "scripted folded 2: Unavailable (0 tokens)").await;
}

#[tokio::test(start_paused = true)]
async fn slow_summary_evicts() {
    let slow = always(|| ScriptedAnswer::text("late").after(Duration::from_secs(60)));
    check_eviction(slow, "scripted folded 2: Timeout (0 tokens)").await;
}

#[tokio::test]
async fn empty_summary_evicts() {
    let empty = always(|| ScriptedAnswer::text(" \n"));
    check_eviction(empty, "scripted folded 2: InvalidResponse (0 tokens)").await;
}

#[tokio::test]
async fn long_summary_evicts() {
    let long = always(|| ScriptedAnswer::text("ä".repeat(21)));
    check_eviction(long, "scripted folded 2: LimitExceeded (0 tokens)").await;
}

#[tokio::test]
async fn truncated_summary_evicts() {
    check_eviction(always(truncated), "scripted folded 2: InvalidResponse (0 tokens)").await;
}

#[tokio::test]
async fn summary_of_the_largest_length_is_kept() {
    let summaries = always(|| ScriptedAnswer::text("ä".repeat(20)));
    let setup = Setup::with(4, summaries.clone(), |summarizer| {
        summarizer.max_characters(20).instructions("Short!")
    });
    setup.chat(0..3).await;
    assert_eq!(setup.request(2)[1], "ä".repeat(20));
    let instructions = &texts(&summaries.messages_of(0))[0];
    assert_eq!(instructions, "Short!\n\nWrite at most 15 characters.");
}

#[tokio::test]
async fn earlier_summary_is_kept_when_the_next_ones_fail() {
    let summaries = ScriptedChatModel::from_fn(|number, _| match number {
        0 => ScriptedAnswer::text("summary 0"),
        _ => ScriptedAnswer::error(ErrorKind::Unavailable, "down"),
    });
    let setup = Setup::new(6, summaries);
    setup.chat(0..20).await;
    for number in 4..20 {
        assert_eq!(setup.request(number)[..2], [QUESTION, "summary 0"], "request {number}");
        assert!(setup.request(number).len() <= 5);
    }
    assert_eq!(Summarizer::summary_of(&setup.stored().await), Some("summary 0"));
    assert_eq!(setup.stored().await.len(), 4);
}

/// The window cannot show a summary, so none is made.
#[tokio::test]
async fn window_without_room_for_a_summary_makes_none() {
    let setup = Setup::new(2, numbered("summary"));
    setup.chat(0..2).await;
    assert_eq!(setup.request(1), ["question 1"]);
    assert!(setup.summaries.requests().is_empty());
    assert_eq!(setup.events()[1], "scripted folded 2: TurnTooLarge (0 tokens)");
}

#[tokio::test]
async fn failed_turn_stores_no_summary() {
    let store = InMemoryChatMemoryStore::new();
    let memory = memory(4, Summarizer::new(numbered("summary")), store.clone());
    let model = ScriptedChatModel::new([
        ScriptedAnswer::text("1"),
        ScriptedAnswer::text("2"),
        ScriptedAnswer::error(ErrorKind::Unavailable, "down"),
    ]);
    let assistant =
        super::AssistantService::builder().chat_model(model).chat_memory(memory).build().unwrap();
    assistant.chat("a").await.unwrap();
    assistant.chat("b").await.unwrap();
    let before = store.get_messages(&id()).await.unwrap();
    let error = assistant.chat("c").await.unwrap_err();
    assert_eq!(store.get_messages(&id()).await.unwrap(), before);
    assert_eq!(error.usage().copied(), Some(TokenUsage::new(10, 1)));
}

#[tokio::test(start_paused = true)]
async fn dropped_call_stores_no_summary() {
    let slow = always(|| ScriptedAnswer::text("summary").after(Duration::from_secs(3)));
    let setup = Setup::new(4, slow.clone());
    setup.chat(0..2).await;
    let before = setup.stored().await;
    assert!(setup.assistant.chat("question 2").now_or_never().is_none());
    assert_eq!(slow.requests().len(), 1);
    assert_eq!(setup.stored().await, before);
    setup.chat(2..3).await;
    assert_eq!(setup.request(2), [QUESTION, "summary", "question 2"]);
}

#[tokio::test]
async fn turn_that_is_too_large_makes_no_summary() {
    let setup = Setup::new(1, numbered("summary"));
    let error = setup.assistant.chat("question").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TurnTooLarge);
    assert_eq!(setup.events(), [""; 0]);
}
