//! Turns, and the data that the page shows about them.

use super::fixture::Fixture;
use ai_services::memory::ChatMemoryStore;
use serde_json::{Value, json};

#[tokio::test]
async fn shown_request_equals_the_bytes_of_the_provider() {
    let fixture = Fixture::start().await;
    let events = fixture.chat("ann:1", "Hello, \"you\"! \u{fc}", Value::Null).await;
    assert_eq!(events.last().unwrap()["type"], "RUN_FINISHED");
    let turns = fixture.json("GET", "/api/turns").await;
    let id = turns[0]["id"].as_str().unwrap();
    let turn = fixture.json("GET", &format!("/api/turns/{id}")).await;
    let sent = fixture.bodies.lock().unwrap().clone();
    assert_eq!(turn["requests"].as_array().unwrap().len(), 1);
    assert_eq!(turn["requests"][0]["bodies"], json!(sent));
    assert_eq!(turn["text"], "Hello, \"you\"! \u{fc}");
}

#[tokio::test]
async fn concurrent_turns_keep_their_own_requests() {
    let fixture = Fixture::start().await;
    let conversations: Vec<String> = (0..16).map(|number| format!("ann:{number}")).collect();
    let turns = conversations.iter().map(|id| fixture.chat(id, id, Value::Null));
    futures_util::future::join_all(turns).await;
    let turns = fixture.json("GET", "/api/turns").await;
    assert_eq!(turns.as_array().unwrap().len(), 16);
    for summary in turns.as_array().unwrap() {
        let id = summary["id"].as_str().unwrap();
        let turn = fixture.json("GET", &format!("/api/turns/{id}")).await;
        let bodies = turn["requests"][0]["bodies"].as_array().unwrap();
        assert_eq!(bodies.len(), 1);
        let body: Value = serde_json::from_str(bodies[0].as_str().unwrap()).unwrap();
        let last = body["messages"].as_array().unwrap().last().unwrap();
        assert_eq!(last["content"], turn["memory_id"]);
    }
}

#[tokio::test]
async fn memory_equals_the_store() {
    let fixture = Fixture::start().await;
    fixture.chat("ann:1", "Hello!", Value::Null).await;
    let memory = fixture.json("GET", "/api/memory/ann:1").await;
    let snapshot = fixture.store.load(&"ann:1".into()).await.unwrap();
    assert_eq!(memory["version"], json!(snapshot.version()));
    let shown: Vec<&Value> =
        memory["messages"].as_array().unwrap().iter().map(|row| &row["message"]).collect();
    let stored: Vec<Value> =
        snapshot.messages().iter().map(|message| serde_json::to_value(message).unwrap()).collect();
    assert_eq!(shown, stored.iter().collect::<Vec<_>>());
    assert!(memory["tokens"].as_u64().unwrap() > 0);
    let listed = fixture.json("GET", "/api/conversations").await;
    assert_eq!(listed[0]["id"], "ann:1");
}

#[tokio::test]
async fn approved_call_goes_on_with_its_requests_shown() {
    let fixture = Fixture::start().await;
    let events = fixture.chat("ann:1", "Refund it.", Value::Null).await;
    let interrupt = &events.last().unwrap()["outcome"]["interrupts"][0];
    assert_eq!(interrupt["reason"], "tool_call", "{events:?}");
    let reply = json!({
        "interruptId": interrupt["id"], "status": "resolved", "payload": { "approved": true },
    });
    let events = fixture.chat("ann:1", "", json!([reply])).await;
    let result = events.iter().find(|event| event["type"] == "TOOL_CALL_RESULT").unwrap();
    assert_eq!(result["content"], "refunded 7");
    assert_eq!(events.last().unwrap()["outcome"]["type"], "success");
    let turns = fixture.json("GET", "/api/turns").await;
    let id = turns[0]["id"].as_str().unwrap();
    let turn = fixture.json("GET", &format!("/api/turns/{id}")).await;
    assert_eq!(turn["requests"][0]["bodies"][0], fixture.bodies.lock().unwrap()[1]);
}

#[tokio::test]
async fn fork_leaves_the_original_unchanged() {
    let fixture = Fixture::start().await;
    fixture.chat("ann:1", "First.", Value::Null).await;
    fixture.chat("ann:1", "Second.", Value::Null).await;
    let before = fixture.store.load(&"ann:1".into()).await.unwrap();
    let turns = fixture.json("GET", "/api/turns").await;
    let id = turns[0]["id"].as_str().unwrap();
    let fork = fixture.json("POST", &format!("/api/turns/{id}/fork")).await;
    assert_eq!(fork["memory_id"], "ann:1~1");
    let copy = fixture.store.load(&"ann:1~1".into()).await.unwrap();
    let expected: Vec<_> = before.messages().iter().take(2).cloned().collect();
    assert_eq!(copy.messages().iter().cloned().collect::<Vec<_>>(), expected);
    fixture.chat("ann:1~1", "Instead.", Value::Null).await;
    let after = fixture.store.load(&"ann:1".into()).await.unwrap();
    assert_eq!(after.version(), before.version());
    let again = fixture.json("POST", &format!("/api/turns/{id}/fork")).await;
    assert_eq!(again["memory_id"], "ann:1~2");
}
