//! Turns that wait, seen by a page that has not begun them.

use super::fixture::Fixture;
use ai_services::memory::{ChatMemoryStore, MemoryId};
use serde_json::{Value, json};

async fn waiting() -> Fixture {
    let fixture = Fixture::start().await;
    let events = fixture.chat("ann:1", "Refund it.", Value::Null).await;
    assert_eq!(events.last().unwrap()["outcome"]["type"], "interrupt");
    fixture
}

#[tokio::test]
async fn waiting_turn_is_listed_with_its_message() {
    let fixture = waiting().await;
    let listed = fixture.json("GET", "/api/conversations").await;
    assert_eq!((&listed[0]["id"], &listed[0]["is_open"]), (&json!("ann:1"), &json!(true)));
    let memory = fixture.json("GET", "/api/memory/ann:1").await;
    assert_eq!(memory["open_turn"], json!({ "text": "Refund it.", "services": ["support"] }));
    assert_eq!(memory["messages"], json!([]));
    fixture.chat("ann:2", "Hello!", Value::Null).await;
    assert_eq!(fixture.json("GET", "/api/memory/ann:2").await["open_turn"], Value::Null);
    let listed = fixture.json("GET", "/api/conversations").await;
    assert_eq!((&listed[0]["id"], &listed[0]["is_open"]), (&json!("ann:2"), &json!(false)));
}

#[tokio::test]
async fn conversation_with_messages_is_listed_as_open_while_its_turn_waits() {
    let fixture = Fixture::start().await;
    fixture.chat("ann:1", "Hello!", Value::Null).await;
    let listed = async || fixture.json("GET", "/api/conversations").await[0].clone();
    assert_eq!(listed().await["is_open"], false);
    fixture.chat("ann:1", "Refund it.", Value::Null).await;
    let open = listed().await;
    assert_eq!((&open["is_open"], &open["messages"]), (&json!(true), &json!(2)));
    let memory = fixture.json("GET", "/api/memory/ann:1").await;
    assert_eq!(memory["open_turn"]["text"], "Refund it.");
}

#[tokio::test]
async fn pending_calls_are_shown_and_nothing_runs() {
    let fixture = waiting().await;
    let journal = async || {
        let id = MemoryId::from("ann:1");
        fixture.store.journals().unwrap().journal(&id).await.unwrap()
    };
    let before = journal().await;
    for _ in 0..2 {
        let events = fixture.pending("ann:1").await;
        let kinds: Vec<_> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
        let expected =
            ["RUN_STARTED", "TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "RUN_FINISHED"];
        assert_eq!(kinds, expected);
        assert_eq!(events[1]["toolCallName"], "refund");
        assert_eq!(events[2]["delta"], r#"{"order":"7"}"#);
    }
    assert_eq!(journal().await, before);
    assert_eq!(fixture.bodies.lock().unwrap().len(), 1);
    assert_eq!(fixture.json("GET", "/api/turns").await.as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn conversation_without_a_waiting_turn_has_no_pending_calls() {
    let fixture = Fixture::start().await;
    fixture.chat("ann:1", "Hello!", Value::Null).await;
    let events = fixture.pending("ann:1").await;
    let last = events.last().unwrap();
    assert_eq!(
        (&last["type"], &last["message"]),
        (&json!("RUN_ERROR"), &json!("the turn no longer waits"))
    );
    assert_eq!(fixture.bodies.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn waiting_turn_is_approved_after_a_restart() {
    let store = waiting().await.store;
    let restarted = Fixture::start_with(store).await;
    let memory = restarted.json("GET", "/api/memory/ann:1").await;
    assert_eq!(memory["open_turn"], json!({ "text": "Refund it.", "services": ["support"] }));
    let events = restarted.pending("ann:1").await;
    let interrupt = &events.last().unwrap()["outcome"]["interrupts"][0];
    let reply = json!({
        "interruptId": interrupt["id"], "status": "resolved", "payload": { "approved": true },
    });
    let rest = restarted.chat("ann:1", "", json!([reply])).await;
    let result = rest.iter().find(|event| event["type"] == "TOOL_CALL_RESULT").unwrap();
    assert_eq!(result["content"], "refunded 7");
    // The card that the page has shown gets the result.
    assert_eq!(result["toolCallId"], events[1]["toolCallId"]);
    assert_eq!(rest.last().unwrap()["outcome"]["type"], "success");
    let memory = restarted.json("GET", "/api/memory/ann:1").await;
    assert_eq!(memory["open_turn"], Value::Null);
    assert_eq!(memory["messages"].as_array().unwrap().len(), 4);
}
