//! Questions of servers.

use crate::agent::call;
use crate::scripted_server::{Scripted, text, tool};
use ai_services::mcp::{ElicitationAnswer, ElicitationKind, Era, McpTools, RemoteServer};
use serde_json::{Value, json};
use std::time::Duration;

fn question() -> Value {
    let schema = json!({"type": "object", "properties": {"seat": {"type": "string"}}});
    json!({"mode": "form", "message": "Which seat?", "requestedSchema": schema})
}

/// Returns the answer that a server of the first era received.
async fn answered(configure: impl FnOnce(RemoteServer) -> RemoteServer) -> (Value, Value) {
    let ask =
        json!({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": question()});
    let mut answer = text("booked");
    answer["steps"] = json!([{"send": ask}, {"read": 1}]);
    let server = Scripted::with_tools(json!([tool("book")]), json!({"tools/call book": answer}));
    let remote = configure(server.server("s"));
    let tools = McpTools::builder().server(remote).build().await.unwrap();
    assert_eq!(call(&tools, "s__book", "{}").await.text(), "booked");
    let log = std::fs::read_to_string(server.path("log")).unwrap();
    let mut messages = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let answer = messages.rfind(|message| message["id"] == "q").unwrap();
    let capabilities = &server.received("initialize")[0]["params"]["capabilities"];
    (answer["result"].clone(), capabilities["elicitation"].clone())
}

#[tokio::test]
async fn question_is_answered_by_the_application() {
    let (answer, capability) = answered(|server| {
        server.call_timeout(Duration::from_secs(1)).on_elicitation(|question| async move {
            // Longer than the time limit of the call, which does not run meanwhile.
            tokio::time::sleep(Duration::from_millis(2_500)).await;
            assert_eq!((question.server.as_str(), question.message.as_str()), ("s", "Which seat?"));
            let ElicitationKind::Form { schema } = question.kind else { panic!("not a form") };
            assert!(schema["properties"]["seat"].is_object());
            ElicitationAnswer::Accept(json!({"seat": "7A"}))
        })
    })
    .await;
    assert_eq!(answer, json!({"action": "accept", "content": {"seat": "7A"}}));
    assert!(capability["form"].is_object() && capability["url"].is_object());
}

#[tokio::test]
async fn question_is_declined_without_a_function() {
    let (answer, capability) = answered(|server| server).await;
    assert_eq!(answer, json!({"action": "decline"}));
    assert_eq!(capability, Value::Null);
}

#[tokio::test]
async fn modern_call_is_sent_again_with_the_answer() {
    let discovered = json!({"result": {
        "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
        "ttlMs": 0, "cacheScope": "private",
    }});
    let list = json!({"result": {
        "resultType": "complete", "ttlMs": 1_000_000, "cacheScope": "private", "tools": [tool("book")],
    }});
    let ask = json!({"method": "elicitation/create", "params": question()});
    let required = json!({"result": {
        "resultType": "input_required", "inputRequests": {"seat": ask}, "requestState": "opaque",
    }});
    let script =
        json!({"server/discover": discovered, "tools/list": list, "tools/call book": required});
    let server = Scripted::new(script.clone());
    let remote = server
        .server("s")
        .era(Era::Modern)
        .on_elicitation(move |_| async move { ElicitationAnswer::Accept(json!({"seat": "7A"})) });
    let tools = McpTools::builder().server(remote).build().await.unwrap();
    call(&tools, "s__book", "{}").await.is_error("asked for input more than 10 times");
    let calls = server.received("tools/call");
    assert_eq!(calls.len(), 10);
    assert_ne!(calls[0]["id"], calls[1]["id"]);
    let again = &calls[1]["params"];
    assert_eq!(again["requestState"], "opaque");
    let answer = json!({"action": "accept", "content": {"seat": "7A"}});
    assert_eq!(again["inputResponses"]["seat"], answer);
    let declining = McpTools::builder().server(server.server("s").era(Era::Modern)).build();
    let declining = declining.await.unwrap();
    call(&declining, "s__book", "{}").await.is_error("asked for input");
    let last = server.received("tools/call").pop().unwrap();
    assert_eq!(last["params"]["inputResponses"]["seat"], json!({"action": "decline"}));
}
