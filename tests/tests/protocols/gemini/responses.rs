//! Parsing of answers.

use super::{answer_of, client, hello, read};
use ai_services::ErrorKind;
use ai_services::model::{ChatModel, FinishReason, ModelStreamEvent, TokenUsage};
use ai_services_tests::fault_server::{FaultServer, events_answer, json_answer};
use futures_util::StreamExt;
use serde_json::{Value, json};

async fn read_json(answer: Value) -> ai_services::Result<ai_services::model::ChatResponse> {
    read(json_answer(&answer)).await
}

#[tokio::test]
async fn everything_is_read() {
    let mut answer = answer_of(
        json!([{ "text": "Hm.", "thought": true }, { "text": "A" }, { "text": "B" }]),
        "STOP",
    );
    answer["usageMetadata"]["toolUsePromptTokenCount"] = 100.into();
    answer["usageMetadata"]["cachedContentTokenCount"] = 4.into();
    answer["candidates"][0]["groundingMetadata"] = json!({ "webSearchQueries": ["x"] });
    let response = read_json(answer).await.unwrap();
    assert_eq!(response.message.text(), Some("AB"));
    assert_eq!(response.message.thinking(), Some("Hm."));
    assert!(response.message.provider_content().is_none());
    assert_eq!(response.finish_reason, Some(FinishReason::Stop));
    assert_eq!(
        (response.id.as_deref(), response.model.as_deref()),
        (Some("r-1"), Some("gemini-2.5-flash"))
    );
    let expected = TokenUsage::new(107, 5).with_total(Some(12));
    assert_eq!(response.usage, expected.with_cached_input(Some(4)).with_reasoning(Some(2)));
    assert_eq!(response.attempts, Some(1));
}

#[tokio::test]
async fn calls_without_ids_get_generated_ones() {
    let parts = json!([{ "functionCall": { "name": "now" } },
        { "functionCall": { "name": "add", "args": { "a": 1.0, "b": 9007199254740993_i64 }, "id": "c1" } },
        { "functionCall": { "name": "now", "args": {}, "id": "" } }]);
    let one = read_json(answer_of(parts.clone(), "STOP")).await.unwrap();
    let other = read_json(answer_of(parts, "STOP")).await.unwrap();
    assert_eq!(one.finish_reason, Some(FinishReason::ToolExecution));
    let calls = one.message.tool_calls();
    assert_eq!(calls[1].id(), "c1");
    assert_eq!(calls[1].arguments(), r#"{"a":1.0,"b":9007199254740993}"#);
    assert_eq!(calls[0].arguments(), "{}");
    assert!(!calls[0].id().is_empty() && calls[0].id() != calls[2].id());
    assert_ne!(calls[0].id(), other.message.tool_calls()[0].id());
    assert!(one.message.provider_content().is_none());
}

#[tokio::test]
async fn signatures_are_kept_with_all_parts() {
    let parts = json!([{ "text": "Hm.", "thought": true },
        { "functionCall": { "name": "now", "args": {} }, "thoughtSignature": "c2ln" },
        { "functionCall": { "name": "now", "args": {} } }]);
    let response = read_json(answer_of(parts.clone(), "STOP")).await.unwrap();
    let content = response.message.provider_content().unwrap();
    assert_eq!(content.protocol(), "gemini");
    assert_eq!(serde_json::from_str::<Value>(content.json()).unwrap(), parts);
    assert_eq!((response.message.thinking(), response.message.text()), (Some("Hm."), None));
}

#[tokio::test]
async fn empty_answer_is_an_answer() {
    for content in [
        json!(null),
        json!({}),
        json!({ "role": "model" }),
        json!({ "parts": [] }),
        json!({ "parts": null }),
        json!({ "parts": [{ "text": "" }] }),
    ] {
        let answer = json!({ "candidates": [{ "content": content, "finishReason": "STOP" }] });
        let response = read_json(answer).await.unwrap();
        assert_eq!((response.message.text(), response.message.tool_calls().len()), (None, 0));
        assert_eq!(response.finish_reason, Some(FinishReason::Stop));
        assert!(response.usage.is_empty());
    }
}

#[tokio::test]
async fn filter_that_stops_an_answer_is_a_reason() {
    for reason in
        ["SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY"]
    {
        let answer = json!({ "candidates": [{ "finishReason": reason, "safetyRatings": [] }] });
        let response = read_json(answer).await.unwrap();
        assert_eq!(response.finish_reason, Some(FinishReason::ContentFilter), "{reason}");
    }
    for reason in ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "OTHER", "SOMETHING_NEW"] {
        let response = read_json(answer_of(json!([{ "text": "a" }]), reason)).await.unwrap();
        assert_eq!(response.finish_reason, Some(FinishReason::Other(reason.into())));
    }
    let response = read_json(answer_of(json!([{ "text": "a" }]), "MAX_TOKENS")).await.unwrap();
    assert_eq!(response.finish_reason, Some(FinishReason::Length));
}

fn blocked() -> Value {
    json!({
        "promptFeedback": { "blockReason": "PROHIBITED_CONTENT", "blockReasonMessage": "not this" },
        "usageMetadata": { "promptTokenCount": 7, "totalTokenCount": 7 }, "responseId": "r-1",
    })
}

#[tokio::test]
async fn filter_that_stops_a_request_refuses_it() {
    let whole = read_json(blocked()).await.unwrap_err();
    let server = FaultServer::answering([events_answer(format!("data: {}\n\n", blocked()))]);
    let server = server.await.unwrap();
    let model = client(&server).build().unwrap();
    let mut events: Vec<_> = model.stream(&hello()).collect().await;
    let streamed = events.pop().unwrap().unwrap_err();
    assert!(events.is_empty());
    for error in [whole, streamed] {
        assert_eq!((error.kind(), error.code()), (ErrorKind::Refused, Some("PROHIBITED_CONTENT")));
        assert_eq!(error.usage().unwrap().input, Some(7));
        assert!(error.to_string().ends_with("PROHIBITED_CONTENT: not this"), "{error}");
        assert!(!error.is_retryable());
    }
}

#[tokio::test]
async fn invalid_answer_is_an_error() {
    for answer in
        [json!({}), json!({ "candidates": [] }), json!({ "promptFeedback": {} }), json!([])]
    {
        let error = read_json(answer).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidResponse, "{error}");
    }
    let paid = json!({ "usageMetadata": { "promptTokenCount": 7 } });
    assert_eq!(read_json(paid).await.unwrap_err().usage().unwrap().input, Some(7));
    for odd in [
        json!({ "candidates": 7 }),
        json!({ "candidates": [{ "content": { "parts": [7] } }] }),
        json!("x"),
    ] {
        let error = read_json(odd).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidResponse, "{error}");
    }
}

#[tokio::test]
async fn only_the_first_candidate_counts() {
    let mut answer = answer_of(json!([{ "text": "a" }]), "STOP");
    let other =
        json!({ "content": { "parts": [{ "text": "b" }] }, "finishReason": "SAFETY", "index": 1 });
    answer["candidates"].as_array_mut().unwrap().push(other);
    let response = read_json(answer).await.unwrap();
    assert_eq!(
        (response.message.text(), response.finish_reason),
        (Some("a"), Some(FinishReason::Stop))
    );
}

#[tokio::test]
async fn stream_as_a_list_is_read() {
    let document = |text: &str, reason| json!({ "candidates": [{ "content": { "parts": [{ "text": text }] }, "finishReason": reason }] });
    let list = json!([document("a", json!(null)), document("b", json!("STOP"))]);
    let server = FaultServer::answering([json_answer(&list)]).await.unwrap();
    let model = client(&server).build().unwrap();
    let mut events: Vec<_> = model.stream(&hello()).collect().await;
    let Some(Ok(ModelStreamEvent::Completed(response))) = events.pop() else {
        panic!("{events:?}")
    };
    assert_eq!(response.message.text(), Some("ab"));
}
