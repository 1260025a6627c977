//! Servers that break the protocol by stdio. `tests/hostile` has those that are checked over both transports, with their
//! time and memory.

use crate::agent::{call, offered};
use crate::scripted_server::{Scripted, tool};
use ai_services::ErrorKind;
use ai_services::mcp::McpTools;
use serde_json::{Value, json};

/// Returns the error of a connection to a server with this script.
async fn rejected(script: Value) -> ai_services::Error {
    let server = Scripted::new(script);
    McpTools::builder().server(server.server("s")).build().await.unwrap_err()
}

#[tokio::test]
async fn server_that_ends_is_reported_with_its_last_error_output() {
    let steps = json!([{"stderr": "no license key"}, {"exit": 1}]);
    let error = rejected(json!({"initialize": {"steps": steps}})).await;
    assert_eq!(error.kind(), ErrorKind::Connection);
    let expected = "no connection to MCP server `s`: it closed the connection; its last error output: no license key";
    assert_eq!(error.to_string(), expected);
}

#[tokio::test]
async fn endless_pages_are_an_error() {
    let server = Scripted::new(json!({"tools/list": {"steps": [{"page": 0}]}}));
    let error = McpTools::builder().server(server.server("s")).build().await.unwrap_err();
    assert!(error.to_string().contains("more than 1000 pages"), "{error}");
    assert_eq!(server.received("tools/list").len(), 1_000);
}

#[tokio::test]
async fn endless_tools_are_an_error() {
    let many: Vec<Value> = (0..10_001).map(|number| tool(&number.to_string())).collect();
    let error = rejected(json!({"tools/list": {"result": {"tools": many}}})).await;
    assert!(error.to_string().contains("more than 10000 entries"), "{error}");
}

#[tokio::test]
async fn two_definitions_of_one_tool_are_an_error() {
    let list = json!({"result": {"tools": [tool("a"), tool("a")]}});
    let error = rejected(json!({"tools/list": list})).await;
    assert!(error.to_string().contains("lists two tools `a`"), "{error}");
}

#[tokio::test]
async fn tool_with_a_large_schema_is_left_out() {
    let mut large = tool("large");
    large["inputSchema"]["description"] = json!("x".repeat(300_000));
    let server = Scripted::with_tools(json!([large]), json!({}));
    let tools = McpTools::builder().server(server.server("s")).build().await.unwrap();
    assert_eq!(offered(&tools).await.unwrap(), Vec::<String>::new());
    let [left_out] = &tools.left_out()[..] else { panic!("{:?}", tools.left_out()) };
    assert_eq!(left_out.server, "s");
    assert!(left_out.reason.contains("larger than 262144 bytes"), "{left_out:?}");
}

/// Returns the tools of a server whose tool `act` is answered like this.
async fn acting(answer: Value) -> (Scripted, McpTools) {
    let server = Scripted::with_tools(json!([tool("act")]), json!({"tools/call act": answer}));
    let tools = McpTools::builder().server(server.server("s")).build().await.unwrap();
    (server, tools)
}

#[tokio::test]
async fn answer_of_another_kind_has_an_unknown_outcome() {
    let (_server, tools) = acting(json!({"result": {"tools": []}})).await;
    call(&tools, "s__act", "{}").await.is_unknown("not a tool result");
}

#[tokio::test]
async fn noise_between_messages_is_ignored() {
    let noise = json!({"steps": [{"raw": "Server started!"}, {"raw": "{\"jsonrpc\":"}, {"raw": "[]"}],
        "result": {"content": [{"type": "text", "text": "done"}]}});
    let (_server, tools) = acting(noise).await;
    assert_eq!(call(&tools, "s__act", "{}").await.text(), "done");
}
