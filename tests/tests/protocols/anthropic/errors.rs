//! Errors of the API.

use super::{CANARY, client, hello};
use ai_services::model::{ChatModel, ModelStreamEvent, PartialAnswer};
use ai_services::{Error, ErrorKind};
use ai_services_tests::fault_server::{FaultServer, answer, events_answer};
use futures_util::StreamExt;
use serde_json::json;

fn error(kind: &str) -> String {
    json!({ "type": "error", "error": { "type": kind, "message": format!("no, {CANARY}") },
        "request_id": "req_1" })
    .to_string()
}

async fn failed(status: u16, kind: &str) -> Error {
    let headers = [("content-type", "application/json"), ("request-id", "req_1")];
    let refused = answer(status, &headers, error(kind));
    let server = FaultServer::answering([refused]).await.unwrap();
    client(&server).max_retries(0).build().unwrap().chat(&hello()).await.unwrap_err()
}

#[tokio::test]
async fn errors_keep_status_type_and_request_id() {
    let errors = [
        (400, "invalid_request_error", ErrorKind::InvalidRequest),
        (401, "authentication_error", ErrorKind::Authentication),
        (402, "billing_error", ErrorKind::RateLimited),
        (403, "permission_error", ErrorKind::Authentication),
        (404, "not_found_error", ErrorKind::InvalidRequest),
        (413, "request_too_large", ErrorKind::InvalidRequest),
        (429, "rate_limit_error", ErrorKind::RateLimited),
        (500, "api_error", ErrorKind::Unavailable),
        (504, "timeout_error", ErrorKind::Unavailable),
        (529, "overloaded_error", ErrorKind::Unavailable),
    ];
    for (status, code, kind) in errors {
        let error = failed(status, code).await;
        assert_eq!((error.kind(), error.status()), (kind, Some(status)), "{code}");
        assert_eq!((error.code(), error.request_id()), (Some(code), Some("req_1")));
        assert!(!format!("{error:?}{error}").contains(CANARY), "{error:?}");
        assert_eq!(error.is_retryable(), status == 429 || status >= 500, "{code}");
    }
}

#[tokio::test]
async fn overloaded_server_is_retried() {
    let refused = answer(529, &[], error("overloaded_error"));
    let server = FaultServer::answering([refused, super::hi()]).await.unwrap();
    let response = client(&server).build().unwrap().chat(&hello()).await.unwrap();
    assert_eq!((response.attempts, server.requests().len()), (Some(2), 2));
}

async fn broken_by(event: &str) -> Error {
    let begun = "event: message_start\n\
        data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":3}}}\n\n\
        event: content_block_start\n\
        data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"Hi\"}}\n\n";
    let server = FaultServer::answering([events_answer(format!("{begun}{event}"))]).await.unwrap();
    let client = client(&server).build().unwrap();
    let mut events: Vec<_> = client.stream(&hello()).collect().await;
    assert!(matches!(&events[0], Ok(ModelStreamEvent::Text(text)) if text == "Hi"));
    assert_eq!((events.len(), server.requests().len()), (2, 1));
    events.remove(1).unwrap_err()
}

#[tokio::test]
async fn error_within_a_stream_keeps_the_partial_answer() {
    let errors = [
        ("overloaded_error", ErrorKind::Unavailable),
        ("api_error", ErrorKind::Unavailable),
        ("rate_limit_error", ErrorKind::RateLimited),
        ("invalid_request_error", ErrorKind::InvalidRequest),
    ];
    for (code, kind) in errors {
        for name in ["event: error\n", ""] {
            let error = broken_by(&format!("{name}data: {}\n\n", error(code))).await;
            assert_eq!((error.kind(), error.code()), (kind, Some(code)), "{name}");
            assert_eq!(error.detail::<PartialAnswer>().unwrap().text, "Hi");
            assert_eq!(error.usage().unwrap().input, Some(3));
        }
    }
}

#[tokio::test]
async fn stream_without_its_end_is_an_error() {
    let stop = "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n";
    let end = "data: {\"type\":\"message_stop\"}\n\n";
    for rest in ["", stop, end] {
        let error = broken_by(rest).await;
        assert_eq!(error.kind(), ErrorKind::InvalidResponse, "{rest}");
        assert!(error.to_string().contains("cut off"), "{error}");
    }
}

#[tokio::test]
async fn too_many_blocks_and_calls_are_rejected() {
    let start = |index: u64, block: &str| {
        format!(
            "data: {{\"type\":\"content_block_start\",\"index\":{index},\"content_block\":{block}}}\n\n"
        )
    };
    let far = start(4_000_000_000, r#"{"type":"text","text":""}"#);
    let call = r#"{"type":"tool_use","id":"c","name":"t","input":{}}"#;
    let calls: String = (1..=129).map(|index| start(index, call)).collect();
    for (event, word) in [(far, "blocks"), (start(4096, call), "blocks")] {
        let error = broken_by(&event).await;
        assert_eq!(error.kind(), ErrorKind::InvalidResponse);
        assert!(error.to_string().contains(word), "{error}");
    }
    let server = FaultServer::answering([events_answer(calls)]).await.unwrap();
    let client = client(&server).build().unwrap();
    let events: Vec<_> = client.stream(&hello()).collect().await;
    let error = events.last().unwrap().as_ref().unwrap_err();
    assert!(error.to_string().contains("tool calls"), "{error}");
    assert_eq!(error.detail::<PartialAnswer>().unwrap().tool_calls.len(), 128);
}
