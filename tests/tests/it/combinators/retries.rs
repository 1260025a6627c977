//! Retries.

use super::{asking, costly, failing, streamed, text};
use ai_services::combinators::{FallbackModel, Jitter, RetryModel, RetryPolicy};
use ai_services::model::{AnswerOrigin, ChatModel, FailedAttempts, TokenUsage};
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::{Error, ErrorKind};
use std::time::Duration;
use tokio::time::Instant;

fn exact() -> RetryPolicy {
    RetryPolicy::new().jitter(Jitter::None)
}

fn busy_for(seconds: u64) -> ScriptedAnswer {
    let error = Error::new(ErrorKind::RateLimited, "slow down");
    error.with_retry_after(Duration::from_secs(seconds)).into()
}

#[tokio::test(start_paused = true)]
async fn delays_double() {
    let down = || failing(ErrorKind::Unavailable);
    let script = ScriptedChatModel::new([down(), down(), down(), ScriptedAnswer::text("up")]);
    let model = RetryModel::new(script.clone(), exact().max_attempts(4));
    let started = Instant::now();
    let response = model.chat(&asking("x")).await.unwrap();
    assert_eq!((text(&response), response.attempts), ("up", Some(4)));
    assert_eq!(started.elapsed().as_millis(), 500 + 1000 + 2000);
    assert_eq!(script.messages_of(3), script.messages_of(0));
}

#[tokio::test(start_paused = true)]
async fn error_contains_all_attempts() {
    let script = ScriptedChatModel::new([
        costly(ErrorKind::Unavailable, 1),
        costly(ErrorKind::Timeout, 2),
        costly(ErrorKind::Unavailable, 3),
    ]);
    let error = RetryModel::new(script, exact()).chat(&asking("x")).await.unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::Unavailable, Some(3)));
    assert_eq!(error.usage(), Some(&TokenUsage::new(6, 0)));
    assert_eq!(error.detail::<FailedAttempts>().unwrap().attempts.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn attempts_of_clients_are_counted() {
    let error = Error::new(ErrorKind::Unavailable, "down").with_attempts(3);
    let script = ScriptedChatModel::new([error.into(), ScriptedAnswer::text("up")]);
    let response = RetryModel::new(script, exact()).chat(&asking("x")).await.unwrap();
    assert_eq!(response.attempts, Some(4));
}

#[tokio::test(start_paused = true)]
async fn other_errors_are_not_retried() {
    let script = ScriptedChatModel::new([failing(ErrorKind::InvalidRequest)]);
    let error = RetryModel::new(script.clone(), exact()).chat(&asking("x")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRequest);
    assert_eq!(script.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn retry_after_is_obeyed() {
    let script = ScriptedChatModel::new([busy_for(30), ScriptedAnswer::text("up")]);
    let started = Instant::now();
    RetryModel::new(script, exact()).chat(&asking("x")).await.unwrap();
    assert_eq!(started.elapsed().as_secs(), 30);
}

#[tokio::test(start_paused = true)]
async fn long_retry_after_is_returned_immediately() {
    let script = ScriptedChatModel::new([busy_for(61), ScriptedAnswer::text("up")]);
    let started = Instant::now();
    let error = RetryModel::new(script, exact()).chat(&asking("x")).await.unwrap_err();
    assert_eq!(error.retry_after(), Some(Duration::from_secs(61)));
    assert_eq!(started.elapsed().as_secs(), 0);
}

#[tokio::test(start_paused = true)]
async fn deadline_cancels_an_attempt() {
    let slow = ScriptedAnswer::text("late").after(Duration::from_secs(60));
    let script = ScriptedChatModel::new([failing(ErrorKind::Unavailable), slow]);
    let policy = exact().deadline(Duration::from_secs(5));
    let started = Instant::now();
    let error = RetryModel::new(script.clone(), policy).chat(&asking("x")).await.unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::Timeout, Some(2)));
    assert_eq!(started.elapsed().as_secs(), 5);
    assert_eq!(script.requests().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn attempt_after_the_deadline_is_not_started() {
    let script = ScriptedChatModel::new([busy_for(10), ScriptedAnswer::text("late")]);
    let policy = exact().deadline(Duration::from_secs(5));
    let started = Instant::now();
    let error = RetryModel::new(script, policy).chat(&asking("x")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::RateLimited);
    assert_eq!(started.elapsed().as_secs(), 0);
}

#[tokio::test(start_paused = true)]
async fn stream_is_retried_before_its_first_piece_only() {
    let answer = ScriptedAnswer::pieces(["a", "b"]).then_error(ErrorKind::Connection, "broke");
    let script = ScriptedChatModel::new([failing(ErrorKind::Unavailable), answer]);
    let model = RetryModel::new(script.clone(), exact());
    let (texts, outcome) = streamed(&model, &asking("x")).await;
    let error = outcome.unwrap_err();
    assert_eq!((texts.concat().as_str(), error.kind()), ("ab", ErrorKind::Connection));
    assert_eq!((error.attempts(), script.requests().len()), (Some(2), 2));
}

#[tokio::test(start_paused = true)]
async fn usage_of_inner_models_is_counted_once() {
    let first = ScriptedChatModel::new([
        costly(ErrorKind::Unavailable, 1),
        ScriptedAnswer::text("up").with_usage(TokenUsage::new(100, 10)),
    ]);
    let second = ScriptedChatModel::new([costly(ErrorKind::Unavailable, 2)]);
    let fallback = FallbackModel::builder().model(first).model(second).build().unwrap();
    let response = RetryModel::new(fallback, exact()).chat(&asking("x")).await.unwrap();
    assert_eq!((response.usage, response.attempts), (TokenUsage::new(103, 10), Some(3)));
    let AnswerOrigin::Attempts(usages) = response.origin else { panic!("no attempts") };
    assert_eq!(usages.len(), 3);
}
