//! Parsing of answers.

use super::{completion, read};
use ai_services::ErrorKind;
use ai_services::message::{AiMessage, ToolCall};
use ai_services::model::{FinishReason, TokenUsage};
use ai_services_tests::fault_server::{answer, json_answer};
use serde_json::{Value, json};

async fn message(message: Value) -> AiMessage {
    read(json_answer(&completion(message))).await.unwrap().message
}

async fn kind_of(body: Value) -> (ErrorKind, Option<u16>, String) {
    let error = read(json_answer(&body)).await.unwrap_err();
    (error.kind(), error.status(), error.to_string())
}

#[tokio::test]
async fn whole_answer_is_read() {
    let response = read(json_answer(&json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "gpt-4o-mini-2024",
        "choices": [
            {
                "index": 0, "logprobs": null, "finish_reason": "length",
                "message": { "role": "assistant", "content": "Hi, \"you\".", "refusal": null },
            },
            { "index": 1, "message": { "content": "ignored" } },
        ],
        "usage": {
            "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15,
            "prompt_tokens_details": { "cached_tokens": 4, "audio_tokens": 0 },
            "completion_tokens_details": { "reasoning_tokens": 2 },
        },
        "system_fingerprint": null,
    })))
    .await
    .unwrap();
    assert_eq!(response.message, AiMessage::new("Hi, \"you\"."));
    assert_eq!(response.finish_reason, Some(FinishReason::Length));
    assert_eq!(response.model.as_deref(), Some("gpt-4o-mini-2024"));
    assert_eq!(response.id.as_deref(), Some("chatcmpl-1"));
    assert_eq!(response.attempts, Some(1));
    let usage = TokenUsage::new(10, 5).with_total(Some(15));
    let usage = usage.with_cached_input(Some(4)).with_reasoning(Some(2));
    assert_eq!(response.usage, usage);
}

#[tokio::test]
async fn minimal_answer_is_read() {
    let body = json!({ "choices": [{ "message": {}, "finish_reason": null }], "usage": null });
    let response = read(json_answer(&body)).await.unwrap();
    assert_eq!(response.message, AiMessage::builder().build());
    assert_eq!((response.id, response.model, response.finish_reason), (None, None, None));
    assert!(response.usage.is_empty());
}

#[tokio::test]
async fn content_is_read_in_every_form() {
    assert_eq!(message(json!({ "content": null })).await.text(), None);
    assert_eq!(message(json!({ "content": "" })).await.text(), Some(""));
    let parts = json!([{ "type": "text", "text": "a" }, { "type": "text", "text": "b" }]);
    assert_eq!(message(json!({ "content": parts })).await.text(), Some("ab"));
}

#[tokio::test]
async fn tool_calls_are_read_in_every_form() {
    let calls = json!([
        { "id": "c1", "type": "function",
          "function": { "name": "a", "arguments": "{\"x\" :\"\\u00e9\"}" } },
        { "index": 1, "function": { "name": "b", "arguments": { "y": [1, 2] } } },
        { "id": null, "function": { "name": "c", "arguments": null } },
        { "id": 7, "function": { "name": "d" } },
        { "id": "c5", "function": { "name": "e", "arguments": "not JSON" } },
    ]);
    let message = message(json!({ "content": "", "tool_calls": calls })).await;
    let expected = [
        ToolCall::new("c1", "a", r#"{"x" :"\u00e9"}"#),
        ToolCall::new("", "b", r#"{"y":[1,2]}"#),
        ToolCall::new("", "c", ""),
        ToolCall::new("7", "d", ""),
        ToolCall::new("c5", "e", "not JSON"),
    ];
    assert_eq!(message.tool_calls(), expected);
    assert_eq!(message.text(), None);
}

#[tokio::test]
async fn refusal_and_thinking_are_read() {
    let refused = message(json!({ "content": null, "refusal": "I cannot." })).await;
    assert_eq!((refused.refusal(), refused.text()), (Some("I cannot."), None));
    for name in ["reasoning_content", "reasoning"] {
        let thought = message(json!({ "content": "a", name: "hm" })).await;
        assert_eq!((thought.thinking(), thought.text()), (Some("hm"), Some("a")));
    }
    let parts = json!([{ "type": "thinking", "thinking": [{ "type": "text", "text": "hm" }] }]);
    assert_eq!(message(json!({ "content": parts })).await.thinking(), Some("hm"));
}

#[tokio::test]
async fn finish_reasons_are_read() {
    for (text, reason) in [
        ("stop", FinishReason::Stop),
        ("length", FinishReason::Length),
        ("tool_calls", FinishReason::ToolExecution),
        ("content_filter", FinishReason::ContentFilter),
        ("eos", FinishReason::Other("eos".into())),
    ] {
        let body = json!({ "choices": [{ "message": {}, "finish_reason": text }] });
        let response = read(json_answer(&body)).await.unwrap();
        assert_eq!(response.finish_reason, Some(reason));
    }
}

#[tokio::test]
async fn odd_usage_is_read() {
    let body = json!({
        "choices": [{ "message": {} }],
        "usage": {
            "prompt_tokens": 10.0, "completion_tokens": null, "total_tokens": -1,
            "prompt_cache_hit_tokens": 3, "prompt_tokens_details": null,
        },
    });
    let usage = read(json_answer(&body)).await.unwrap().usage;
    assert_eq!((usage.input, usage.output), (Some(10), None));
    assert_eq!((usage.cached_input, usage.reasoning), (Some(3), None));
}

#[tokio::test]
async fn answer_without_a_message_is_invalid_and_keeps_the_usage() {
    for body in [
        json!({}),
        json!({ "choices": null }),
        json!({ "choices": [] }),
        json!({ "choices": [{}] }),
        json!({ "choices": [{ "message": null }] }),
    ] {
        assert_eq!(kind_of(body.clone()).await.0, ErrorKind::InvalidResponse, "{body}");
    }
    let body = json!({ "choices": [], "usage": { "prompt_tokens": 3 } });
    let error = read(json_answer(&body)).await.unwrap_err();
    assert_eq!(error.usage().unwrap().input, Some(3));
}

#[tokio::test]
async fn error_with_status_200_is_an_error() {
    let error =
        |code: Value| json!({ "error": { "message": "no", "code": code }, "choices": null });
    let (kind, status, text) = kind_of(error(429.into())).await;
    assert_eq!((kind, status), (ErrorKind::RateLimited, Some(429)));
    assert!(text.ends_with(": no"), "{text}");
    for (code, kind) in [
        ("invalid_request_error", ErrorKind::InvalidRequest),
        ("invalid_api_key", ErrorKind::Authentication),
        ("insufficient_quota", ErrorKind::RateLimited),
        ("content_filter", ErrorKind::Refused),
        ("server_error", ErrorKind::Unavailable),
        ("strange", ErrorKind::InvalidResponse),
    ] {
        assert_eq!(kind_of(error(code.into())).await.0, kind, "{code}");
    }
    assert_eq!(kind_of(json!({ "error": "no" })).await.0, ErrorKind::InvalidResponse);
    let fine = json!({ "error": null, "choices": [{ "message": { "content": "a" } }] });
    assert!(read(json_answer(&fine)).await.is_ok());
}

#[tokio::test]
async fn document_without_a_completion_is_invalid() {
    let html = answer(200, &[("content-type", "text/html")], "<html>\u{1b}[1mLogin</html>");
    let error = read(html).await.unwrap_err();
    let expected = "the answer is not JSON (text/html): <html>\\u{1b}[1mLogin</html>";
    assert_eq!(error.to_string(), expected);
    for body in [
        &b""[..],
        b"null",
        b"[]",
        b"\"text\"",
        b"{",
        b"{}}",
        b"{\"choices\":7}",
        b"{\"choices\":[{\"message\":{\"content\":\"\xff\xfe\"}}]}",
        b"{\"choices\":[{\"message\":{\"content\":\"\\ud800\"}}]}",
        b"{\"choices\":[{\"message\":{\"tool_calls\":[{\"function\":{\"arguments\":\"\xff\"}}]}}]}",
    ] {
        let error = read(answer(200, &[("x-request-id", "r-1")], body)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidResponse, "{error}");
        assert_eq!((error.attempts(), error.request_id()), (Some(1), Some("r-1")));
        assert!(!error.is_retryable());
    }
    let deep = format!("{{\"x\":{}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(read(answer(200, &[], deep)).await.is_err());
}

#[tokio::test]
async fn json_of_another_content_type_is_read() {
    let body = completion(json!({ "content": "a" })).to_string();
    let response = read(answer(200, &[("content-type", "text/plain")], body)).await;
    assert_eq!(response.unwrap().message.text(), Some("a"));
}
