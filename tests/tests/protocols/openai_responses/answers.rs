//! Whole answers.

use super::{call, client, hello, read, response, said, thought};
use ai_services::ErrorKind;
use ai_services::model::{ChatModel, FinishReason, TokenUsage};
use ai_services_tests::fault_server::{FaultServer, answer, json_answer};
use serde_json::{Value, json};

async fn of(output: Value) -> ai_services::model::ChatResponse {
    read(json_answer(&response(&output))).await.unwrap()
}

#[tokio::test]
async fn everything_in_an_answer_is_read() {
    let output = json!([
        thought("**Hm**"),
        said("Let me look."),
        call("c1", "weather", r#"{"city":"Oslo"}"#),
    ]);
    let mut document = response(&output);
    document["usage"] = json!({
        "input_tokens": 9, "input_tokens_details": { "cached_tokens": 4, "cache_write_tokens": 2 },
        "output_tokens": 5, "output_tokens_details": { "reasoning_tokens": 3 }, "total_tokens": 14,
    });
    let read = read(json_answer(&document)).await.unwrap();
    let usage = TokenUsage::new(9, 5)
        .with_cached_input(Some(4))
        .with_cache_write_input(Some(2))
        .with_reasoning(Some(3))
        .with_total(Some(14));
    assert_eq!(read.usage, usage);
    assert_eq!(read.finish_reason, Some(FinishReason::ToolExecution));
    assert_eq!((read.id.as_deref(), read.model.as_deref()), (Some("r-1"), Some("m-1")));
    let message = &read.message;
    assert_eq!((message.text(), message.thinking()), (Some("Let me look."), Some("**Hm**")));
    let call = &message.tool_calls()[0];
    assert_eq!((call.id(), call.name()), ("c1", "weather"));
    let kept = message.provider_content().unwrap();
    assert_eq!(kept.protocol(), "openai-responses");
    assert_eq!(serde_json::from_str::<Value>(kept.json()).unwrap(), output);
}

#[tokio::test]
async fn plain_answer_has_no_provider_content() {
    let plain = [
        json!([said("Hi.")]),
        json!([call("c1", "now", "{}"), call("c2", "now", "{}")]),
        json!([said("Hi."), call("c1", "now", "{}")]),
    ];
    for output in plain {
        let read = of(output.clone()).await;
        assert_eq!(read.message.provider_content(), None, "{output}");
    }
}

#[tokio::test]
async fn provider_specific_items_are_kept() {
    let mut final_answer = said("Hi.");
    final_answer["phase"] = "final_answer".into();
    let mut by_program = call("c1", "now", "{}");
    by_program["caller"] = json!({ "type": "program", "caller_id": "p" });
    let kept = [
        json!([final_answer]),
        json!([by_program]),
        json!([said("a"), said("b")]),
        json!([call("c1", "now", "{}"), said("Hi.")]),
        json!([{ "type": "invented", "id": "x" }, said("Hi.")]),
    ];
    for output in kept {
        let read = of(output.clone()).await;
        let kept = read.message.provider_content().unwrap().json();
        assert_eq!(serde_json::from_str::<Value>(kept).unwrap(), output);
    }
}

#[tokio::test]
async fn encrypted_reasoning_behind_a_message_is_kept_before_it() {
    let mut first = thought("First");
    first["id"] = "rs_0".into();
    let (message, call) = (said("Hi."), call("c1", "now", "{}"));
    for (output, expected) in [
        (json!([message, thought("Hm")]), json!([thought("Hm"), message])),
        (json!([message, call, thought("Hm")]), json!([thought("Hm"), message, call])),
        (json!([first, message, thought("Hm")]), json!([first, thought("Hm"), message])),
    ] {
        let read = of(output).await;
        let kept = read.message.provider_content().unwrap().json();
        assert_eq!(serde_json::from_str::<Value>(kept).unwrap(), expected);
    }
}

#[tokio::test]
async fn items_that_cannot_be_sent_back_are_not_kept() {
    let broken = json!([thought("Hm"), call("c1", "now", "{")]);
    let alone = json!([thought("Hm")]);
    let mut readable = thought("Hm");
    readable["encrypted_content"] = Value::Null;
    let behind = json!([said("Hi."), readable]);
    for output in [broken, alone, behind] {
        let read = of(output.clone()).await;
        assert_eq!(read.message.provider_content(), None, "{output}");
        assert_eq!(read.message.thinking(), Some("Hm"));
    }
}

#[tokio::test]
async fn refusal_is_read() {
    let refusal = json!({ "type": "message", "role": "assistant",
        "content": [{ "type": "refusal", "refusal": "I cannot." }] });
    let read = of(json!([refusal])).await;
    assert_eq!((read.message.refusal(), read.message.text()), (Some("I cannot."), None));
    assert_eq!(read.finish_reason, Some(FinishReason::Stop));
}

#[tokio::test]
async fn thoughts_are_paragraphs_and_precede_their_summary() {
    let part = |text: &str| json!({ "type": "summary_text", "text": text });
    let summary = json!({ "type": "reasoning", "summary": [part("a"), part(""), part("b")] });
    let open = json!({ "type": "reasoning", "summary": [part("in short")],
        "content": [{ "type": "reasoning_text", "text": "at length" }] });
    let read = of(json!([summary, open, said("Hi.")])).await;
    assert_eq!(read.message.thinking(), Some("a\n\nb\n\nat length"));
}

#[tokio::test]
async fn incomplete_answer_has_the_finish_reason() {
    for (details, expected) in [
        (json!({ "reason": "max_output_tokens" }), FinishReason::Length),
        (json!({ "reason": "content_filter" }), FinishReason::ContentFilter),
        (json!({ "reason": "moon" }), FinishReason::Other("moon".into())),
        (Value::Null, FinishReason::Other("incomplete".into())),
    ] {
        let mut document = response(&json!([thought("Hm"), said("Once")]));
        document["status"] = "incomplete".into();
        document["incomplete_details"] = details;
        let read = read(json_answer(&document)).await.unwrap();
        assert_eq!(read.finish_reason, Some(expected));
        assert_eq!(read.message.text(), Some("Once"));
        assert_eq!(read.message.provider_content(), None);
    }
}

#[tokio::test]
async fn failed_answer_is_an_error_with_its_cost() {
    for (code, expected) in [
        ("server_error", ErrorKind::Unavailable),
        ("rate_limit_exceeded", ErrorKind::RateLimited),
        ("invalid_prompt", ErrorKind::InvalidRequest),
        ("image_too_large", ErrorKind::InvalidRequest),
        ("image_content_policy_violation", ErrorKind::Refused),
    ] {
        let mut document = response(&json!([]));
        document["status"] = "failed".into();
        document["error"] = json!({ "code": code, "message": "It broke." });
        document["usage"] = json!({ "input_tokens": 3, "output_tokens": 0 });
        let error = read(json_answer(&document)).await.unwrap_err();
        assert_eq!((error.kind(), error.code()), (expected, Some(code)), "{error}");
        assert!(error.to_string().contains("It broke."), "{error}");
        assert_eq!(error.usage().unwrap().input, Some(3));
    }
}

#[tokio::test]
async fn invalid_answer_is_an_error() {
    let with = |status: &str| json!({ "status": status, "output": [] }).to_string();
    for (body, expected) in [
        (with("cancelled"), ErrorKind::InvalidResponse),
        (with("queued"), ErrorKind::InvalidResponse),
        (with("failed"), ErrorKind::Unavailable),
        ("{}".to_owned(), ErrorKind::InvalidResponse),
        ("".to_owned(), ErrorKind::InvalidResponse),
        ("<html>".to_owned(), ErrorKind::InvalidResponse),
        (
            r#"{"error":{"message":"no","code":"invalid_api_key"}}"#.to_owned(),
            ErrorKind::Authentication,
        ),
        (r#"{"output":[{"type":"mess"#.to_owned(), ErrorKind::InvalidResponse),
    ] {
        let error = read(answer(200, &[], &body)).await.unwrap_err();
        assert_eq!(error.kind(), expected, "{body}: {error}");
    }
}

#[tokio::test]
async fn rejected_request_quotes_the_provider() {
    let body = json!({ "error": { "message": "Encrypted content is not supported with this model.",
        "type": "invalid_request_error", "param": "include", "code": null } });
    let error = read(answer(400, &[], body.to_string())).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRequest);
    assert!(error.to_string().contains("Encrypted content is not supported"), "{error}");
}

#[tokio::test]
async fn answers_of_sloppy_servers_are_read() {
    let sloppy = json!({ "output": [
        null,
        7,
        { "type": "reasoning", "content": "Hm", "summary": null },
        { "type": "message", "content": "Hi." },
        { "type": "function_call", "id": "fc_1", "name": "now", "arguments": { "a": 1 } },
    ] });
    let read = read(json_answer(&sloppy)).await.unwrap();
    let message = read.message;
    assert_eq!((message.text(), message.thinking()), (Some("Hi."), Some("Hm")));
    let call = &message.tool_calls()[0];
    assert_eq!((call.id(), call.arguments()), ("fc_1", r#"{"a":1}"#));
}

#[tokio::test]
async fn key_is_in_no_output() {
    let body = json!({ "error": { "message": format!("bad key {}", super::CANARY) } });
    let server = FaultServer::answering([answer(401, &[], body.to_string())]).await.unwrap();
    let model = client(&server).build().unwrap();
    let error = model.chat(&hello()).await.unwrap_err();
    let printed = format!("{error:?} {error} {model:?} {:?}", client(&server));
    assert!(!printed.contains("canary"), "{printed}");
}
