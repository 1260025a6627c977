//! Tools of MCP servers in the assistant.

use super::harness::{assistant, at, completion, path};
use ai_services_tests::fault_server::FaultServer;
use serde_json::{Value, json};

/// Returns an answer that calls a tool.
fn call(tool: &str, arguments: &str) -> Vec<u8> {
    let function = json!({ "name": tool, "arguments": arguments });
    let call = json!({ "id": "1", "type": "function", "function": function });
    completion(&json!({ "content": null, "tool_calls": [call] }))
}

#[tokio::test]
async fn tool_of_a_server_is_called() {
    let answers = [
        call("mcp_server__booking", r#"{"number":"A7"}"#),
        completion(&json!({ "content": "A city bike." })),
    ];
    let model = FaultServer::answering(answers).await.unwrap();
    let url = model.url();
    let server = format!("'{}'", path("mcp_server"));
    let arguments = [&at(&url)[..], &["--no-stream", "--mcp", &server, "Which bike?"]].concat();
    let (code, answer, notices) = assistant(&arguments).await;
    assert_eq!((code, answer.as_str()), (Some(0), "A city bike.\n"), "{notices}");
    assert!(notices.contains("mcp tools: mcp_server__booking"), "{notices}");
    let requests = model.requests();
    let tools = requests[0].json()["tools"].as_array().unwrap().clone();
    let names: Vec<_> = tools.iter().map(|tool| tool["function"]["name"].clone()).collect();
    assert!(names.contains(&json!("mcp_server__booking")), "{names:?}");
    let result = requests[1].json()["messages"].as_array().unwrap().last().unwrap().clone();
    let result: Value = serde_json::from_str(result["content"].as_str().unwrap()).unwrap();
    assert_eq!(result["bicycle"], "a city bike");
}

#[tokio::test]
async fn server_that_cannot_be_started_is_an_error() {
    let (code, answer, notices) =
        assistant(&["--model", "demo", "--mcp", "/nowhere/server --fast", "hi"]).await;
    assert_eq!((code, answer.as_str()), (Some(1), ""));
    assert!(notices.contains("error: MCP server `server` cannot be started"), "{notices}");
}
