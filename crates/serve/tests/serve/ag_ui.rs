//! AG-UI.

use crate::client::{Answer, post, send};
use crate::fixture::{deletion, hello, server, weather};
use ai_services::ErrorKind;
use ai_services::memory::InMemoryChatMemoryStore;
use ai_services::model::ChatModel;
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use http::StatusCode;
use serde_json::{Value, json};

async fn ask(model: impl ChatModel + 'static, body: Value) -> Answer {
    let server = server(model, &InMemoryChatMemoryStore::new()).build().unwrap();
    send(&server, post("/ag-ui/assistant", &body)).await
}

fn body(text: &str) -> Value {
    json!({
        "threadId": "t1",
        "runId": "r1",
        "state": {},
        "messages": [{ "id": "m1", "role": "user", "content": text }],
        "tools": [{ "name": "client_tool", "description": "A tool of the page." }],
        "context": [],
    })
}

#[tokio::test]
async fn run_contains_one_message() {
    let answer = ask(ScriptedChatModel::new([hello()]), body("Hi!")).await;
    let mut types = answer.types();
    types.dedup();
    let expected = [
        "RUN_STARTED",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        "RUN_FINISHED",
    ];
    assert_eq!(types, expected);
    let finished = answer.events().pop().unwrap();
    assert_eq!(finished["outcome"]["type"], "success");
    assert_eq!(finished["usage"][0]["inputTokens"], 12);
    assert_eq!((&finished["threadId"], &finished["runId"]), (&json!("t1"), &json!("r1")));
}

#[tokio::test]
async fn tool_calls_have_arguments_and_results() {
    let answer = ask(weather(), body("Weather?")).await;
    let mut types = answer.types();
    types.retain(|kind| kind.starts_with("TOOL_CALL"));
    let count = |kind: &str| types.iter().filter(|other| *other == kind).count();
    assert_eq!(count("TOOL_CALL_START"), 2);
    assert_eq!(count("TOOL_CALL_END"), 2);
    assert_eq!(count("TOOL_CALL_RESULT"), 2);
    let events = answer.events();
    let id = |event: &Value| event["toolCallId"].as_str().unwrap().to_owned();
    let first = events.iter().find(|event| event["type"] == "TOOL_CALL_START").map(id).unwrap();
    let arguments: String = events
        .iter()
        .filter(|event| event["type"] == "TOOL_CALL_ARGS" && id(event) == first)
        .map(|event| event["delta"].as_str().unwrap())
        .collect();
    assert_eq!(arguments, r#"{"city":"Rome"}"#);
    let result =
        events.iter().find(|event| event["type"] == "TOOL_CALL_RESULT" && id(event) == first);
    assert_eq!(result.unwrap()["content"], "Rome is sunny");
}

#[tokio::test]
async fn approval_is_an_interrupt() {
    let answer = ask(deletion(), body("Delete me.")).await;
    let events = answer.events();
    let finished = events.last().unwrap();
    assert_eq!(finished["type"], "RUN_FINISHED");
    assert_eq!(finished["outcome"]["type"], "interrupt");
    let started = events.iter().find(|event| event["type"] == "TOOL_CALL_START").unwrap();
    assert_eq!(finished["outcome"]["interrupts"][0]["toolCallId"], started["toolCallId"]);
}

#[tokio::test]
async fn failure_ends_the_run_with_an_error() {
    let broken =
        ScriptedAnswer::pieces(["Hel"]).then_error(ErrorKind::Connection, "10.0.0.1 reset");
    let answer = ask(ScriptedChatModel::new([broken]), body("Hi!")).await;
    let last = answer.events().pop().unwrap();
    assert_eq!((&last["type"], &last["code"]), (&json!("RUN_ERROR"), &json!("bad_answer")));
    assert!(!answer.types().contains(&"RUN_FINISHED".to_owned()));
}

#[tokio::test]
async fn unknown_interrupt_is_not_found() {
    let mut body = body("Hi!");
    body["resume"] = json!([{ "interruptId": "x", "status": "resolved" }]);
    let answer = ask(ScriptedChatModel::new([hello()]), body).await;
    assert_eq!((answer.status, &*answer.code()), (StatusCode::NOT_FOUND, "decision_not_found"));
}

#[tokio::test]
async fn clients_do_not_decide_unless_the_server_lets_them() {
    let server = server(deletion(), &InMemoryChatMemoryStore::new()).build().unwrap();
    let answer = send(&server, post("/ag-ui/assistant", &body("Delete me."))).await;
    let interrupt = answer.events().pop().unwrap()["outcome"]["interrupts"][0]["id"].clone();
    let mut body = body("");
    let payload = json!({ "approved": true });
    body["resume"] =
        json!([{ "interruptId": interrupt, "status": "resolved", "payload": payload }]);
    let answer = send(&server, post("/ag-ui/assistant", &body)).await;
    assert_eq!((answer.status, &*answer.code()), (StatusCode::BAD_REQUEST, "unsupported_resume"));
}
