//! The UI message stream of the AI SDK.

use crate::client::{Answer, post, send};
use crate::fixture::{deletion, hello, server, weather};
use ai_services::ErrorKind;
use ai_services::memory::InMemoryChatMemoryStore;
use ai_services::model::ChatModel;
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use http::StatusCode;
use serde_json::{Value, json};
use std::collections::BTreeSet;

async fn ask(model: impl ChatModel + 'static, body: Value) -> Answer {
    let server = server(model, &InMemoryChatMemoryStore::new()).build().unwrap();
    send(&server, post("/ui/assistant", &body)).await
}

fn body(text: &str) -> Value {
    json!({
        "id": "c1",
        "trigger": "submit-message",
        "messages": [{ "id": "m1", "role": "user", "parts": [{ "type": "text", "text": text }] }],
    })
}

#[tokio::test]
async fn text_is_a_part_of_one_step() {
    let answer = ask(ScriptedChatModel::new([hello()]), body("Hi!")).await;
    assert_eq!(answer.header("x-vercel-ai-ui-message-stream"), "v1");
    let mut types = answer.types();
    types.dedup();
    let expected =
        ["start", "start-step", "text-start", "text-delta", "text-end", "finish-step", "finish"];
    assert_eq!(types, expected);
    let finish = answer.events().pop().unwrap();
    assert_eq!(finish["finishReason"], "stop");
    assert_eq!(finish["messageMetadata"]["usage"]["totalTokens"], 16);
    assert!(answer.is_done());
}

#[tokio::test]
async fn tool_calls_are_shown_with_ids_of_their_own() {
    let answer = ask(weather(), body("Weather?")).await;
    let events = answer.events();
    let of = |kind: &str| {
        events.iter().filter(move |event| event["type"] == *kind).cloned().collect::<Vec<_>>()
    };
    let inputs = of("tool-input-available");
    assert_eq!(
        inputs.iter().map(|event| &event["input"]["city"]).collect::<Vec<_>>(),
        ["Rome", "Oslo"]
    );
    let ids: BTreeSet<_> = inputs.iter().map(|event| event["toolCallId"].to_string()).collect();
    assert_eq!(ids.len(), 2, "the model gave both calls one id");
    let outputs = of("tool-output-available");
    assert_eq!(
        outputs.iter().map(|event| event["toolCallId"].to_string()).collect::<BTreeSet<_>>(),
        ids
    );
    assert!(outputs.iter().any(|event| event["output"] == "Rome is sunny"));
    assert_eq!(of("start-step").len(), 2);
    assert_eq!(of("tool-input-start").len(), 2);
}

#[tokio::test]
async fn call_that_needs_approval_is_requested() {
    let answer = ask(deletion(), body("Delete me.")).await;
    let types = answer.types();
    let expected = [
        "start",
        "start-step",
        "tool-input-start",
        "tool-input-delta",
        "tool-input-available",
        "tool-approval-request",
        "finish-step",
        "finish",
    ];
    assert_eq!(types, expected);
}

#[tokio::test]
async fn failure_is_an_error_event() {
    let broken =
        ScriptedAnswer::pieces(["Hel"]).then_error(ErrorKind::Connection, "10.0.0.1 reset");
    let answer = ask(ScriptedChatModel::new([broken]), body("Hi!")).await;
    let last = answer.events().pop().unwrap();
    assert_eq!(
        (&last["type"], &last["errorText"]),
        (&json!("error"), &json!("the model gave no usable answer"))
    );
    assert!(answer.is_done());
}

#[tokio::test]
async fn regeneration_is_refused() {
    let mut body = body("Hi!");
    body["trigger"] = "regenerate-message".into();
    let answer = ask(ScriptedChatModel::new([hello()]), body).await;
    assert_eq!((answer.status, &*answer.code()), (StatusCode::BAD_REQUEST, "unsupported_trigger"));
}
