//! Parsing of answers.

use super::{answer, read};
use ai_services::ErrorKind;
use ai_services::message::AiMessage;
use ai_services::model::{FinishReason, TokenUsage};
use serde_json::{Value, json};

async fn message(blocks: Value) -> AiMessage {
    read(&answer(&blocks, "end_turn")).await.unwrap().message
}

/// Returns the blocks that are stored unchanged.
async fn kept(blocks: Value) -> Option<Value> {
    let message = message(blocks).await;
    let content = message.provider_content()?;
    assert_eq!(content.protocol(), "anthropic");
    Some(serde_json::from_str(content.json()).unwrap())
}

#[tokio::test]
async fn answer_of_text_and_calls_is_only_a_message() {
    let blocks = json!([
        { "type": "text", "text": "I ", "citations": null },
        { "type": "text", "text": "look." },
        { "type": "tool_use", "id": "c1", "name": "weather", "input": { "city": "Oslo" },
            "caller": { "type": "direct" } },
        { "type": "tool_use", "id": "c2", "name": "now", "input": {} },
    ]);
    let response = read(&answer(&blocks, "tool_use")).await.unwrap();
    let message = &response.message;
    assert_eq!(message.text(), Some("I look."));
    let calls: Vec<_> =
        message.tool_calls().iter().map(|c| (c.id(), c.name(), c.arguments())).collect();
    assert_eq!(calls, [("c1", "weather", r#"{"city":"Oslo"}"#), ("c2", "now", "{}")]);
    assert_eq!((message.thinking(), message.provider_content()), (None, None));
    assert_eq!(response.finish_reason, Some(FinishReason::ToolExecution));
    assert_eq!(response.usage, TokenUsage::new(3, 2));
    assert_eq!((response.id.as_deref(), response.model.as_deref()), (Some("msg_1"), Some("m-1")));
    assert_eq!(response.attempts, Some(1));
}

#[tokio::test]
async fn thoughts_are_kept_with_all_blocks_in_order() {
    let blocks = json!([
        { "type": "thinking", "thinking": "One. ", "signature": "YQ==" },
        { "type": "redacted_thinking", "data": "Yg==" },
        { "type": "text", "text": "\n\n" },
        { "type": "thinking", "thinking": "Two.", "signature": "Yw==" },
        { "type": "text", "text": "Four." },
    ]);
    let message = message(blocks.clone()).await;
    assert_eq!(message.thinking(), Some("One. Two."));
    assert_eq!(message.text(), Some("\n\nFour."));
    // The API refuses texts that are only white space.
    let mut expected = blocks.clone();
    expected.as_array_mut().unwrap().remove(2);
    assert_eq!(kept(blocks).await, Some(expected));
}

#[tokio::test]
async fn thoughts_of_a_truncated_answer_are_not_kept() {
    let thinking = json!({ "type": "thinking", "thinking": "One.", "signature": "" });
    let redacted = json!({ "type": "redacted_thinking", "data": "Yg==" });
    let text = json!({ "type": "text", "text": "Two." });
    assert_eq!(kept(json!([thinking])).await, None);
    assert_eq!(message(json!([thinking])).await.thinking(), Some("One."));
    assert_eq!(kept(json!([thinking, redacted, { "type": "text", "text": "" }])).await, None);
    let expected = json!([redacted, text]);
    assert_eq!(kept(json!([redacted, text, thinking, redacted])).await, Some(expected));
}

#[tokio::test]
async fn unknown_blocks_are_kept() {
    let search = json!({ "type": "server_tool_use", "id": "s1", "name": "web_search", "input": { "query": "q" } });
    let found = json!({ "type": "web_search_tool_result", "tool_use_id": "s1", "content": [{ "encrypted_content": "x" }] });
    let cited = json!({ "type": "text", "text": "So.", "citations": [{ "type": "page_location", "cited_text": "S" }] });
    let coded = json!({ "type": "tool_use", "id": "c", "name": "t", "input": {}, "caller": { "type": "code_execution_20260120", "tool_id": "s" } });
    let call = json!({ "type": "tool_use", "id": "c", "name": "t", "input": {} });
    let text = json!({ "type": "text", "text": "So." });
    let late = json!([call, text]);
    for blocks in [json!([search, found, text]), json!([cited]), json!([coded]), late] {
        assert_eq!(kept(blocks.clone()).await, Some(blocks));
    }
    assert_eq!(kept(json!([text, call])).await, None);
}

#[tokio::test]
async fn members_and_numbers_are_unchanged() {
    let raw = r#"{ "signature":"é", "type":"thinking","thinking":"x","new":1.0e0 },{"type":"text","text":"y"}"#;
    let whole = format!(r#"{{"content":[{raw}],"stop_reason":"end_turn"}}"#);
    let server = ai_services_tests::fault_server::FaultServer::answering([
        ai_services_tests::fault_server::answer(200, &[], whole),
    ]);
    let server = server.await.unwrap();
    let client = super::client(&server).build().unwrap();
    let response = ai_services::model::ChatModel::chat(&client, &super::hello()).await.unwrap();
    assert_eq!(response.message.provider_content().unwrap().json(), format!("[{raw}]"));
}

#[tokio::test]
async fn call_that_the_api_would_reject_is_rewritten() {
    let blocks = json!([
        { "type": "thinking", "thinking": "x" },
        { "type": "tool_use", "id": "functions.t:0", "name": "t", "input": null },
        { "type": "tool_use", "id": "c", "name": "t", "input": "[1]" },
    ]);
    let message = message(blocks.clone()).await;
    let calls: Vec<_> = message.tool_calls().iter().map(|c| (c.id(), c.arguments())).collect();
    assert_eq!(calls, [("functions.t:0", "{}"), ("c", "\"[1]\"")]);
    let expected = json!([
        { "type": "thinking", "thinking": "x" },
        { "type": "tool_use", "id": "functions_t_0", "name": "t", "input": {} },
        { "type": "tool_use", "id": "c", "name": "t", "input": {} },
    ]);
    assert_eq!(kept(blocks).await, Some(expected));
}

#[tokio::test]
async fn reason_of_a_refusal_is_in_the_message() {
    let mut refused = answer(&json!([]), "refusal");
    refused["stop_details"] =
        json!({ "type": "refusal", "category": "bio", "explanation": "This may do harm." });
    let response = read(&refused).await.unwrap();
    assert_eq!(response.finish_reason, Some(FinishReason::ContentFilter));
    assert_eq!(response.message.refusal(), Some("This may do harm."));
    assert_eq!(response.message.text(), None);
}

#[tokio::test]
async fn cached_tokens_are_counted() {
    let mut cached = answer(&json!([{ "type": "text", "text": "Hi." }]), "end_turn");
    cached["usage"] = json!({
        "input_tokens": 5, "output_tokens": 3, "cache_read_input_tokens": 100,
        "cache_creation_input_tokens": 20, "output_tokens_details": { "thinking_tokens": 1 },
        "service_tier": "standard",
    });
    let expected = TokenUsage::new(125, 3)
        .with_cached_input(Some(100))
        .with_cache_write_input(Some(20))
        .with_reasoning(Some(1));
    assert_eq!(read(&cached).await.unwrap().usage, expected);
}

#[tokio::test]
async fn odd_answers_are_read() {
    let text = json!({ "content": "Hi.", "stop_reason": "new_reason", "usage": null });
    let response = read(&text).await.unwrap();
    assert_eq!(response.message.text(), Some("Hi."));
    assert_eq!(response.finish_reason, Some(FinishReason::Other("new_reason".into())));
    assert!(response.usage.is_empty());
    for nothing in [json!([]), json!([{ "type": "new", "x": 1 }])] {
        let message = message(nothing).await;
        assert_eq!((message.text(), message.tool_calls().len()), (None, 0));
    }
}

#[tokio::test]
async fn invalid_answer_is_an_error() {
    for document in [json!({}), json!({ "content": null }), json!({ "content": [1] })] {
        let error = read(&document).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidResponse, "{document}");
    }
    let overloaded = json!({ "type": "error", "error": { "type": "overloaded_error", "message": "Overloaded" } });
    assert_eq!(read(&overloaded).await.unwrap_err().kind(), ErrorKind::Unavailable);
}
