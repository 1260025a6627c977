//! Both forms of the protocol over lines.

use super::line_client::{connected, request, stateless, stateless_call};
use ai_services::mcp::{McpPrincipal, McpServer};
use ai_services::memory::MemoryId;
use ai_services::tool;
use ai_services::tool::{ToolInput, ToolProgress};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

/// Greets the caller.
#[tool(read_only)]
async fn greet(#[memory_id] caller: &MemoryId) -> String {
    format!("Hello, {caller}!")
}

/// Reads a book.
#[tool(read_only)]
async fn read(#[context] input: &ToolInput) -> &'static str {
    for page in [1.0, 2.0, 2.0, 1.0, 3.0] {
        input.report(ToolProgress::new(page).with_total(3.0).with_message("reading"));
        tokio::task::yield_now().await;
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    "read"
}

fn server() -> McpServer {
    let builder = McpServer::builder("test", "1").tools(greet::tool()).tools(read::tool());
    builder.stdio_principal(McpPrincipal::new("klaus")).build().unwrap()
}

#[tokio::test]
async fn handshake_names_the_server_and_its_capabilities() {
    connected(server(), |mut client| async move {
        let answer = client.handshake(json!({})).await;
        assert_eq!(answer["result"]["protocolVersion"], "2025-11-25");
        assert_eq!(answer["result"]["capabilities"], json!({ "tools": {} }));
        assert_eq!(answer["result"]["serverInfo"]["name"], "test");
        assert_eq!(client.ask(&request(1, "ping", json!({}))).await["result"], json!({}));
    })
    .await;
}

#[tokio::test]
async fn principal_of_stdio_is_the_caller_in_both_eras() {
    connected(server(), |mut client| async move {
        client.handshake(json!({})).await;
        let result = client.call("greet", json!({ "caller": "mallory" })).await;
        assert_eq!(result["content"][0]["text"], "Hello, klaus!");
        assert_eq!(result.get("resultType"), None);
    })
    .await;
    connected(server(), |mut client| async move {
        let answer = client.ask(&stateless_call(1, "greet", json!({}))).await;
        assert_eq!(answer["result"]["content"][0]["text"], "Hello, klaus!");
        assert_eq!(answer["result"]["resultType"], "complete");
    })
    .await;
}

#[tokio::test]
async fn tool_that_needs_a_caller_fails_without_one() {
    let server = McpServer::builder("test", "1").tools(greet::tool()).build().unwrap();
    connected(server, |mut client| async move {
        let answer = client.ask(&stateless_call(1, "greet", json!({}))).await;
        assert_eq!(answer["result"]["isError"], true);
        assert_eq!(answer["result"]["content"][0]["text"], "the tool failed");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn progress_increases_and_precedes_the_result() {
    connected(server(), |mut client| async move {
        client.handshake(json!({})).await;
        let params = json!({ "name": "read", "_meta": { "progressToken": "t" } });
        client.send(&request(1, "tools/call", params)).await;
        let mut pages = Vec::new();
        let result = loop {
            let message = client.next().await;
            if message["method"] != "notifications/progress" {
                break message;
            }
            assert_eq!(message["params"]["progressToken"], "t");
            assert_eq!(message["params"]["message"], "reading");
            pages.push(message["params"]["progress"].as_f64().unwrap());
        };
        assert_eq!(pages, [1.0, 2.0, 3.0]);
        assert_eq!(result["result"]["content"][0]["text"], "read");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn progress_is_not_sent_without_a_token() {
    connected(server(), |mut client| async move {
        client.handshake(json!({})).await;
        assert_eq!(client.call("read", json!({})).await["content"][0]["text"], "read");
    })
    .await;
}

#[tokio::test]
async fn client_that_leaves_ends_the_server() {
    let (client, own) = tokio::io::duplex(1024);
    let (reader, writer) = tokio::io::split(own);
    drop(client);
    server().serve(reader, writer).await.unwrap();

    let (mut client, own) = tokio::io::duplex(1024);
    let (reader, writer) = tokio::io::split(own);
    client
        .write_all(format!("{}\n", stateless_call(1, "greet", json!({}))).as_bytes())
        .await
        .unwrap();
    client.shutdown().await.unwrap();
    server().serve(reader, writer).await.unwrap();
}

#[tokio::test]
async fn unsupported_version_is_an_error_with_the_supported_ones() {
    connected(server(), |mut client| async move {
        let mut meta = stateless(json!({}));
        meta["io.modelcontextprotocol/protocolVersion"] = "2999-01-01".into();
        let answer = client.ask(&request(1, "tools/list", json!({ "_meta": meta }))).await;
        assert_eq!(answer["error"]["code"], -32022);
        let supported: Vec<Value> =
            serde_json::from_value(answer["error"]["data"]["supported"].clone()).unwrap();
        assert!(supported.contains(&json!("2026-07-28")), "{supported:?}");
        let answer = client.ask(&stateless_call(2, "greet", json!({}))).await;
        assert_eq!(answer["result"]["content"][0]["text"], "Hello, klaus!");
    })
    .await;
}
