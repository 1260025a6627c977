//! Errors in Google's format.

use super::{CANARY, client, hello, hi};
use ai_services::model::{ChatModel, PartialAnswer};
use ai_services::{Error, ErrorKind};
use ai_services_tests::fault_server::{FaultServer, answer, events_answer};
use futures_util::StreamExt;
use serde_json::{Value, json};
use std::time::Duration;

const JSON: (&str, &str) = ("content-type", "application/json; charset=UTF-8");

fn error(code: u16, status: &str, details: Value) -> Value {
    json!({ "error": { "code": code, "message": "No.", "status": status, "details": details } })
}

fn limited(delay: &str) -> Vec<u8> {
    let details = json!([
        { "@type": "type.googleapis.com/google.rpc.QuotaFailure",
            "violations": [{ "quotaId": "GenerateRequestsPerMinute" }] },
        { "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay },
    ]);
    answer(429, &[JSON], error(429, "RESOURCE_EXHAUSTED", details).to_string())
}

async fn error_of(answer: Vec<u8>) -> Error {
    let server = FaultServer::answering([answer]).await.unwrap();
    client(&server).max_retries(0).build().unwrap().chat(&hello()).await.unwrap_err()
}

#[tokio::test]
async fn wrong_key_is_distinguished_from_a_wrong_request() {
    let details = json!([{ "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": "API_KEY_INVALID", "domain": "googleapis.com" }]);
    let body = error(400, "INVALID_ARGUMENT", details).to_string();
    let refused = error_of(answer(400, &[JSON], body)).await;
    assert_eq!(
        (refused.kind(), refused.code()),
        (ErrorKind::Authentication, Some("API_KEY_INVALID"))
    );
    let body = error(400, "INVALID_ARGUMENT", json!([])).to_string();
    let wrong = error_of(answer(400, &[JSON], body)).await;
    assert_eq!((wrong.kind(), wrong.code()), (ErrorKind::InvalidRequest, Some("INVALID_ARGUMENT")));
    assert!(wrong.to_string().ends_with(": No."), "{wrong}");
}

#[tokio::test]
async fn retry_delay_in_the_body_is_respected() {
    let limited_error = error_of(limited("13.5s")).await;
    assert_eq!(limited_error.kind(), ErrorKind::RateLimited);
    assert_eq!(limited_error.code(), Some("RESOURCE_EXHAUSTED"));
    assert_eq!(limited_error.retry_after(), Some(Duration::from_millis(13_500)));
    assert!(limited_error.is_retryable());
    // Below the limit: the client waits.
    let server = FaultServer::answering([limited("0.01s"), hi()]).await.unwrap();
    let response = client(&server).build().unwrap().chat(&hello()).await.unwrap();
    assert_eq!(response.attempts, Some(2));
    // Above the limit: the client fails.
    let server = FaultServer::answering([limited("61s"), hi()]).await.unwrap();
    let late = client(&server).build().unwrap().chat(&hello()).await.unwrap_err();
    assert_eq!((late.attempts(), late.retry_after()), (Some(1), Some(Duration::from_secs(61))));
}

#[tokio::test]
async fn header_wins_over_the_body() {
    let body = error(429, "RESOURCE_EXHAUSTED", json!([{ "retryDelay": "5s" }])).to_string();
    let limited = error_of(answer(429, &[JSON, ("retry-after", "7")], body)).await;
    assert_eq!(limited.retry_after(), Some(Duration::from_secs(7)));
}

#[tokio::test]
async fn error_in_the_middle_keeps_the_partial_answer() {
    let begin = json!({ "candidates": [{ "content": { "parts": [{ "text": "Once" }] } }],
        "usageMetadata": { "promptTokenCount": 7 } });
    let end = error(503, "UNAVAILABLE", json!([{ "retryDelay": "2s" }]));
    let server =
        FaultServer::answering([events_answer(format!("data: {begin}\n\ndata: {end}\n\n"))]);
    let server = server.await.unwrap();
    let model = client(&server).build().unwrap();
    let mut events: Vec<_> = model.stream(&hello()).collect().await;
    let error = events.pop().unwrap().unwrap_err();
    assert_eq!((error.kind(), error.status()), (ErrorKind::Unavailable, Some(503)));
    assert_eq!(error.retry_after(), Some(Duration::from_secs(2)));
    assert_eq!(error.usage().unwrap().input, Some(7));
    assert_eq!(error.detail::<PartialAnswer>().unwrap().text, "Once");
    assert_eq!(events.len(), 1);
}

#[tokio::test]
async fn error_as_a_list_is_read() {
    // The API answers a stream request without `alt=sse` in this form.
    let body = json!([error(404, "NOT_FOUND", json!([]))]).to_string();
    let missing = error_of(answer(404, &[JSON], &body)).await;
    assert_eq!((missing.kind(), missing.code()), (ErrorKind::InvalidRequest, Some("NOT_FOUND")));
    let missing = error_of(answer(200, &[JSON], &body)).await;
    assert_eq!((missing.kind(), missing.status()), (ErrorKind::InvalidRequest, Some(404)));
}

#[tokio::test]
async fn key_is_not_repeated() {
    let body = json!({ "error": { "code": 403, "message": format!("the key {CANARY} is blocked"),
        "status": "PERMISSION_DENIED" } });
    let server = FaultServer::answering([answer(403, &[JSON], body.to_string())]).await.unwrap();
    let model = client(&server).build().unwrap();
    let error = model.chat(&hello()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Authentication);
    assert!(!format!("{error} {error:?} {model:?}").contains(CANARY));
}
