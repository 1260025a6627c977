//! Falling back to another model.

use super::{asking, costly, failing, streamed, text};
use ai_services::combinators::FallbackModel;
use ai_services::model::{
    AnswerOrigin, Capabilities, Capability, ChatModel, FailedAttempts, ModelUsage, TokenUsage,
};
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::{Error, ErrorKind};
use std::time::Duration;

fn either(first: &ScriptedChatModel, second: &ScriptedChatModel) -> FallbackModel {
    FallbackModel::builder().model(first.clone()).model(second.clone()).build().unwrap()
}

#[tokio::test]
async fn provider_errors_trigger_the_fallback() {
    for kind in [
        ErrorKind::Unavailable,
        ErrorKind::RateLimited,
        ErrorKind::Connection,
        ErrorKind::Timeout,
        ErrorKind::Authentication,
        ErrorKind::Unsupported,
        ErrorKind::InvalidResponse,
    ] {
        let first = ScriptedChatModel::new([failing(kind)]);
        let second = ScriptedChatModel::replies(["second"]);
        let response = either(&first, &second).chat(&asking("x")).await.unwrap();
        assert_eq!((text(&response), response.attempts), ("second", Some(2)), "{kind:?}");
        assert_eq!(second.messages_of(0), first.messages_of(0));
    }
}

#[tokio::test]
async fn other_errors_are_returned_unchanged() {
    for kind in [ErrorKind::InvalidRequest, ErrorKind::Refused, ErrorKind::Configuration] {
        let first = ScriptedChatModel::new([failing(kind)]);
        let second = ScriptedChatModel::replies(["second"]);
        let error = either(&first, &second).chat(&asking("x")).await.unwrap_err();
        assert_eq!((error.kind(), error.to_string()), (kind, format!("{kind:?}")));
        assert!(error.detail::<FailedAttempts>().is_none());
        assert!(second.requests().is_empty());
    }
}

#[tokio::test]
async fn predicate_replaces_the_default() {
    let first = ScriptedChatModel::new([failing(ErrorKind::InvalidRequest)]);
    let model = FallbackModel::builder()
        .model(first)
        .model(ScriptedChatModel::replies(["second"]))
        .when(|error| error.kind() == ErrorKind::InvalidRequest)
        .build()
        .unwrap();
    assert_eq!(text(&model.chat(&asking("x")).await.unwrap()), "second");
}

#[tokio::test]
async fn usage_includes_failed_attempts() {
    let first = ScriptedChatModel::new([costly(ErrorKind::Timeout, 7)]);
    let answer = ScriptedAnswer::text("second").with_usage(TokenUsage::new(10, 5));
    let second = ScriptedChatModel::new([answer]);
    let response = either(&first, &second).chat(&asking("x")).await.unwrap();
    assert_eq!(response.usage, TokenUsage::new(17, 5));
    let usages = [(7, 0), (10, 5)]
        .map(|(input, output)| ModelUsage::new("scripted", TokenUsage::new(input, output)));
    assert_eq!(response.origin, AnswerOrigin::Attempts(usages.to_vec()));
}

#[tokio::test]
async fn error_contains_every_attempt() {
    let first = ScriptedChatModel::new([costly(ErrorKind::RateLimited, 1)]);
    let second = ScriptedChatModel::new([costly(ErrorKind::Authentication, 2)]);
    let error = either(&first, &second).chat(&asking("x")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Authentication);
    assert!(error.is_retryable(), "the first may succeed later");
    assert_eq!((error.usage(), error.attempts()), (Some(&TokenUsage::new(3, 0)), Some(2)));
    let attempts = &error.detail::<FailedAttempts>().unwrap().attempts;
    let kinds: Vec<_> = attempts.iter().map(|attempt| attempt.error.kind()).collect();
    assert_eq!(kinds, [ErrorKind::RateLimited, ErrorKind::Authentication]);
    assert_eq!(
        error.to_string(),
        "all 2 attempts failed: `scripted`: RateLimited; `scripted`: Authentication"
    );
}

#[tokio::test]
async fn stream_falls_back_before_its_first_piece() {
    let first = ScriptedChatModel::new([costly(ErrorKind::Unavailable, 3)]);
    let answer = ScriptedAnswer::pieces(["se", "cond"]).with_usage(TokenUsage::new(1, 1));
    let second = ScriptedChatModel::new([answer]);
    let (texts, outcome) = streamed(&either(&first, &second), &asking("x")).await;
    assert_eq!(texts, ["se", "cond"]);
    assert_eq!(outcome.unwrap().usage, TokenUsage::new(4, 1));
}

#[tokio::test]
async fn started_stream_does_not_fall_back() {
    let broken = ScriptedAnswer::pieces(["fir"]).then_error(ErrorKind::Connection, "broke");
    let first = ScriptedChatModel::new([broken]);
    let second = ScriptedChatModel::replies(["second"]);
    let (texts, outcome) = streamed(&either(&first, &second), &asking("x")).await;
    assert_eq!(
        (texts, outcome.unwrap_err().kind()),
        (vec!["fir".to_owned()], ErrorKind::Connection)
    );
    assert!(second.requests().is_empty());
}

#[tokio::test]
async fn empty_pieces_do_not_prevent_the_fallback() {
    let broken = ScriptedAnswer::pieces([""]).then_error(ErrorKind::Connection, "broke");
    let first = ScriptedChatModel::new([broken]);
    let second = ScriptedChatModel::replies(["second"]);
    let (texts, _) = streamed(&either(&first, &second), &asking("x")).await;
    assert_eq!(texts, ["second"]);
}

#[tokio::test(start_paused = true)]
async fn dropped_call_does_not_fall_back() {
    let slow = failing(ErrorKind::Unavailable).after(Duration::from_secs(10));
    let first = ScriptedChatModel::new([slow]);
    let second = ScriptedChatModel::replies(["second"]);
    let model = either(&first, &second);
    let request = asking("x");
    let call = tokio::time::timeout(Duration::from_secs(1), model.chat(&request));
    assert!(call.await.is_err());
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(second.requests().is_empty());
}

#[test]
fn capabilities_are_those_that_all_models_share() {
    let capable = |capabilities: &[Capability]| {
        let capabilities = Capabilities::of(capabilities.iter().copied());
        ScriptedChatModel::replies(["x"]).with_capabilities(capabilities)
    };
    let model = either(
        &capable(&[Capability::Tools, Capability::Images]),
        &capable(&[Capability::Tools, Capability::Pdfs]),
    );
    assert_eq!(model.capabilities(), Capabilities::of([Capability::Tools]));
    assert_eq!(model.name(), "scripted");
}

#[test]
fn missing_models_are_an_error() {
    let error: Error = FallbackModel::builder().build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
}
