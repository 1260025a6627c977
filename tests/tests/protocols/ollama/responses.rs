//! Parsing of answers.

use super::{read, reply};
use ai_services::ErrorKind;
use ai_services::message::{AiMessage, ToolCall};
use ai_services::model::{FinishReason, TokenUsage};
use serde_json::{Value, json};

async fn message(message: Value) -> AiMessage {
    read(&reply(message)).await.unwrap().message
}

#[tokio::test]
async fn whole_answer_is_read() {
    let response = read(&json!({
        "model": "qwen3:4b", "created_at": "2025-11-01T12:00:00.123Z",
        "message": {
            "role": "assistant", "content": "Hi, \"you\".", "thinking": "A greeting.", "images": null,
        },
        "done_reason": "length", "done": true, "total_duration": 2_544_046_375_u64,
        "load_duration": 1, "prompt_eval_count": 13, "prompt_eval_duration": 1, "eval_count": 23,
        "eval_duration": 1, "something": { "new": [] },
    }))
    .await
    .unwrap();
    let expected = AiMessage::builder().text("Hi, \"you\".").thinking("A greeting.").build();
    assert_eq!(response.message, expected);
    assert_eq!(response.finish_reason, Some(FinishReason::Length));
    assert_eq!(response.model.as_deref(), Some("qwen3:4b"));
    assert_eq!((response.id, response.attempts), (None, Some(1)));
    assert_eq!(response.usage, TokenUsage::new(13, 23));
}

#[tokio::test]
async fn minimal_answer_is_read() {
    let response = read(&json!({ "message": {} })).await.unwrap();
    assert_eq!(response.message, AiMessage::new(""));
    assert_eq!(response.finish_reason, Some(FinishReason::Stop));
    assert!(response.usage.is_empty());
}

#[tokio::test]
async fn finish_reason_is_read_or_kept() {
    for (reason, expected) in [
        (json!("stop"), FinishReason::Stop),
        (json!("length"), FinishReason::Length),
        (json!("load"), FinishReason::Other("load".into())),
        (json!("unload"), FinishReason::Other("unload".into())),
        (json!("new"), FinishReason::Other("new".into())),
        (Value::Null, FinishReason::Stop),
    ] {
        let mut body = reply(json!({ "content": "" }));
        body["done_reason"] = reason;
        assert_eq!(read(&body).await.unwrap().finish_reason, Some(expected));
    }
}

#[tokio::test]
async fn tool_calls_are_read_in_every_form() {
    let calls = json!([
        { "id": "call_1", "function": { "index": 0, "name": "a", "arguments": { "x": "é" } } },
        { "id": "call_2", "type": "function",
          "function": { "name": "b", "arguments": "{\"z\":1,\"y\":2}" } },
        { "id": "call_3", "function": { "name": "c", "arguments": {} } },
        { "id": "call_4", "function": { "name": "d", "arguments": null } },
    ]);
    let body = reply(json!({ "content": "", "tool_calls": calls }));
    let response = read(&body).await.unwrap();
    let expected = [
        ToolCall::new("call_1", "a", r#"{"x":"é"}"#),
        ToolCall::new("call_2", "b", r#"{"z":1,"y":2}"#),
        ToolCall::new("call_3", "c", "{}"),
        ToolCall::new("call_4", "d", ""),
    ];
    assert_eq!(response.message.tool_calls(), expected);
    assert_eq!(response.message.text(), None);
    assert_eq!(response.finish_reason, Some(FinishReason::ToolExecution));
}

#[tokio::test]
async fn calls_without_an_id_get_a_unique_one() {
    let call = json!({ "function": { "name": "a", "arguments": {} } });
    let said = json!({ "content": "", "tool_calls": [call, call] });
    let (first, second) = (message(said.clone()).await, message(said).await);
    let all = first.tool_calls().iter().chain(second.tool_calls());
    let mut ids: Vec<_> = all.map(ToolCall::id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 4, "{ids:?}");
    assert!(ids.iter().all(|id| id.starts_with("call_")), "{ids:?}");
}

#[tokio::test]
async fn invalid_answer_is_an_error() {
    for (body, text) in [
        (json!({ "error": "model runner has stopped" }), "model runner has stopped"),
        (json!({ "done": true }), "the answer has no message"),
        (json!({ "message": { "content": "He" }, "done": false }), "the answer was cut off"),
        (json!("Hi."), "the answer is not JSON"),
        (json!({ "message": { "tool_calls": 7 } }), "does not follow the protocol"),
    ] {
        let error = read(&body).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidResponse, "{body}");
        assert!(error.to_string().contains(text), "{error}");
        assert_eq!((error.status(), error.attempts()), (Some(200), Some(1)));
    }
}

#[tokio::test]
async fn tokens_of_an_unusable_answer_are_kept() {
    let body = json!({ "done": true, "prompt_eval_count": 3, "eval_count": 4 });
    let error = read(&body).await.unwrap_err();
    assert_eq!(error.usage(), Some(&TokenUsage::new(3, 4)));
}
