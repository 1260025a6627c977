//! Messages that no client should send.

use super::line_client::{connected, request, stateless, stateless_call};
use super::web_client::WebClient;
use ai_services::mcp::McpServer;
use ai_services::tool;
use http::StatusCode;
use serde_json::json;

/// Returns its argument.
#[tool(read_only)]
async fn echo(text: String) -> String {
    text
}

fn server() -> McpServer {
    McpServer::builder("test", "1").tools(echo::tool()).max_request_bytes(10_000).build().unwrap()
}

fn echo_call(id: u32) -> serde_json::Value {
    stateless_call(id, "echo", json!({ "text": "hi" }))
}

#[tokio::test]
async fn lines_that_are_not_messages_do_not_end_the_connection() {
    connected(server(), |mut client| async move {
        assert_eq!(client.ask(&echo_call(1)).await["result"]["content"][0]["text"], "hi");
        for line in ["", "{", "\u{7f}\0", &"[".repeat(5000), &"x".repeat(100_000)] {
            client.send_line(line).await;
        }
        assert_eq!(client.ask(&echo_call(2)).await["id"], 2, "lines without an answer");
        for line in [
            "7",
            r#""text"x"#,
            "[]",
            "{}",
            r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":{},"method":"x"}"#,
        ] {
            client.send_line(line).await;
            assert_eq!(client.next().await["error"]["code"], -32600, "{line}");
        }
        assert_eq!(client.ask(&echo_call(3)).await["result"]["content"][0]["text"], "hi");
    })
    .await;
}

#[tokio::test]
async fn unknown_methods_and_wrong_parameters_are_errors() {
    connected(server(), |mut client| async move {
        let params = |extra: serde_json::Value| {
            let mut params = json!({ "_meta": stateless(json!({})) });
            params.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
            params
        };
        for (method, extra, code) in [
            ("tools/destroy", json!({}), -32601),
            ("", json!({}), -32601),
            ("ping", json!({}), -32601),
            ("logging/setLevel", json!({ "level": "info" }), -32601),
            ("tools/call", json!({}), -32602),
            ("tools/call", json!({ "name": 7 }), -32602),
            ("tools/call", json!({ "name": "echo", "arguments": [] }), -32602),
            ("tools/call", json!({ "name": "echo", "inputResponses": 7 }), -32602),
            ("prompts/get", json!({ "name": "x" }), -32602),
            ("resources/read", json!({ "uri": "x" }), -32602),
            ("completion/complete", json!({}), -32602),
        ] {
            let answer = client.ask(&request(1, method, params(extra.clone()))).await;
            assert_eq!(answer["error"]["code"], code, "{method} {extra}: {answer}");
            assert_eq!(answer["id"], 1);
        }
    })
    .await;
}

#[tokio::test]
async fn line_with_too_many_values_is_skipped() {
    let server = McpServer::builder("test", "1").tools(echo::tool()).build().unwrap();
    connected(server, |mut client| async move {
        let many = vec![0; 260_000];
        client.send(&stateless_call(1, "echo", json!({ "text": "hi", "values": many }))).await;
        assert_eq!(client.ask(&echo_call(2)).await["id"], 2);
    })
    .await;
}

#[tokio::test]
async fn duplicate_ids_do_not_stop_other_calls() {
    connected(server(), |mut client| async move {
        for _ in 0..3 {
            client.send(&echo_call(1)).await;
        }
        client.send(&echo_call(2)).await;
        loop {
            let answer = client.next().await;
            assert_eq!(answer["result"]["content"][0]["text"], "hi");
            if answer["id"] == 2 {
                break;
            }
        }
    })
    .await;
}

#[tokio::test]
async fn unexpected_answers_and_notifications_are_ignored() {
    connected(server(), |mut client| async move {
        client.handshake(json!({})).await;
        client.send(&json!({ "jsonrpc": "2.0", "id": 99, "result": {} })).await;
        client.send(&json!({ "jsonrpc": "2.0", "id": 99, "error": { "code": 1, "message": "" } })).await;
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/unheard" })).await;
        let progress = json!({ "progressToken": "x", "progress": 1 });
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": progress })).await;
        assert_eq!(client.call("echo", json!({ "text": "hi" })).await["content"][0]["text"], "hi");
    })
    .await;
}

#[tokio::test]
async fn first_message_that_is_not_a_request_closes_the_connection() {
    let (client, own) = tokio::io::duplex(1024);
    let (reader, writer) = tokio::io::split(own);
    let (_, mut input) = tokio::io::split(client);
    let line = b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
    tokio::io::AsyncWriteExt::write_all(&mut input, line).await.unwrap();
    let error = server().serve(reader, writer).await.unwrap_err();
    assert_eq!(error.kind(), ai_services::ErrorKind::Connection);
}

#[tokio::test]
async fn malformed_bodies_get_an_error() {
    let client = WebClient::new(server().into_http_service());
    let client = client.with("mcp-protocol-version", "2026-07-28").with("mcp-method", "tools/call");
    for body in ["", "{", "7", "[]", "{}", r#"{"jsonrpc":"2.0"}"#, "\u{0}", &"[".repeat(9000)] {
        let answer = client.send("POST", body.to_owned()).await;
        assert!(answer.status.is_client_error(), "{} for {body:.20}", answer.status);
        let text = answer.text().await;
        assert!(!text.contains("panick"), "{text}");
    }
    let answer = client.with("mcp-name", "echo").post(&echo_call(1)).await;
    assert_eq!(answer.status, StatusCode::OK);
}
