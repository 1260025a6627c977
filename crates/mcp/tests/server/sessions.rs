//! The sessions of earlier revisions over HTTP.

use super::line_client::request;
use super::web_client::WebClient;
use ai_services::mcp::{McpPrincipal, McpServer};
use ai_services::memory::MemoryId;
use ai_services::tool;
use http::StatusCode;
use serde_json::json;

/// Names the caller.
#[tool(read_only)]
async fn caller(#[memory_id] caller: &MemoryId) -> String {
    caller.to_string()
}

fn client() -> WebClient {
    let builder = McpServer::builder("test", "1").tools(caller::tool());
    let builder = builder.principal(|request| {
        let user = request.headers.get("x-user").and_then(|user| user.to_str().ok());
        Ok(McpPrincipal::new(user.unwrap_or_default()))
    });
    WebClient::new(builder.build().unwrap().into_http_service())
}

fn call() -> serde_json::Value {
    request(1, "tools/call", json!({ "name": "caller", "arguments": {} }))
}

#[tokio::test]
async fn session_belongs_to_the_principal_that_opened_it() {
    let ann = client().with("x-user", "ann").session(json!({})).await;
    let bob = ann.with("x-user", "bob");
    assert_eq!(bob.post(&call()).await.status, StatusCode::NOT_FOUND);
    assert_eq!(bob.send("GET", "").await.status, StatusCode::NOT_FOUND);
    bob.send("DELETE", "").await;
    let mut answer = ann.post(&call()).await;
    assert_eq!(answer.status, StatusCode::OK, "the other principal has not closed it");
    assert_eq!(answer.next().await["result"]["content"][0]["text"], "ann");
}

#[tokio::test]
async fn closed_and_unknown_sessions_are_not_found() {
    let ann = client().with("x-user", "ann").session(json!({})).await;
    // The official Python client takes 202 for a failure.
    assert_eq!(ann.send("DELETE", "").await.status, StatusCode::NO_CONTENT);
    assert_eq!(ann.post(&call()).await.status, StatusCode::NOT_FOUND);
    let unknown = ann.with("mcp-session-id", "5f8d2c9e-0000-4000-8000-000000000000");
    assert_eq!(unknown.post(&call()).await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn request_without_a_session_is_rejected() {
    let answer = client().with("x-user", "ann").post(&call()).await;
    assert!(answer.status.is_client_error(), "{}", answer.status);
}
