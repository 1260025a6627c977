//! Time limits, sizes, concurrency and panics.

use super::line_client::{LineClient, connected, stateless_call};
use ai_services::mcp::{McpServer, McpServerBuilder};
use ai_services::model::ToolSpecification;
use ai_services::tool::{Tool, ToolError, ToolOutput};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

fn tool<F, Fut>(name: &str, run: F) -> Tool
where
    F: Fn() -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<ToolOutput, ToolError>> + Send + 'static,
{
    Tool::from_fn(ToolSpecification::new(name, "A tool."), move |_call| run())
}

fn builder() -> McpServerBuilder {
    McpServer::builder("test", "1")
        .tools(tool("endless", std::future::pending))
        .tools(tool("panic", || async { panic!("the key is 4711") }))
        .tools(tool("large", || async { Ok(ToolOutput::text("x".repeat(1001))) }))
        .tools(tool("secret", || async { Err(ToolError::concealed("the key is 4711")) }))
        .tools(tool("quick", || async { Ok(ToolOutput::text("done")) }))
}

async fn error_of(client: &mut LineClient, tool: &str) -> String {
    let answer = client.ask(&stateless_call(1, tool, json!({}))).await;
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    answer["result"]["content"][0]["text"].as_str().unwrap().to_owned()
}

#[tokio::test(start_paused = true)]
async fn time_limit_is_a_result() {
    let server = builder().call_timeout(Duration::from_secs(5)).build().unwrap();
    connected(server, |mut client| async move {
        let error = error_of(&mut client, "endless").await;
        let expected = "outcome unknown: the tool took longer than 5s and was stopped";
        assert!(error.starts_with(expected), "{error}");
    })
    .await;
}

#[tokio::test]
async fn panic_fails_one_call_only() {
    connected(builder().build().unwrap(), |mut client| async move {
        let error = error_of(&mut client, "panic").await;
        assert!(error.starts_with("outcome unknown: the tool failed. "), "{error}");
        assert!(!error.contains("4711"), "{error}");
        let answer = client.ask(&stateless_call(2, "quick", json!({}))).await;
        assert_eq!(answer["result"]["content"][0]["text"], "done");
    })
    .await;
}

#[tokio::test]
async fn panic_of_a_raw_method_is_an_internal_error() {
    let server = builder().raw_method("test/panic", |_params: Value| async { panic!("4711") });
    connected(server.build().unwrap(), |mut client| async move {
        client.handshake(json!({})).await;
        let request = super::line_client::request(1, "test/panic", json!({}));
        let answer = client.ask(&request).await;
        assert_eq!(answer["error"], json!({ "code": -32603, "message": "internal error" }));
    })
    .await;
}

#[tokio::test]
async fn concealed_errors_and_large_results_have_no_details() {
    let server = builder().max_result_bytes(1000).build().unwrap();
    connected(server, |mut client| async move {
        assert_eq!(error_of(&mut client, "secret").await, "the tool failed");
        assert_eq!(error_of(&mut client, "large").await, "the result is too large");
    })
    .await;
}

#[tokio::test]
async fn calls_beyond_the_limit_wait_and_then_fail() {
    let (open, entered) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let (door, bell) = (Arc::clone(&open), Arc::clone(&entered));
    let blocked = tool("blocked", move || {
        bell.add_permits(1);
        let door = Arc::clone(&door);
        async move {
            door.acquire().await.unwrap().forget();
            Ok(ToolOutput::text("done"))
        }
    });
    let server = McpServer::builder("test", "1").tools(blocked).max_concurrent_calls(2);
    connected(server.build().unwrap(), |mut client| async move {
        for id in 1..=4 {
            client.send(&stateless_call(id, "blocked", json!({}))).await;
        }
        entered.acquire_many(2).await.unwrap().forget();
        // A fifth call is rejected while two calls run and two wait. The server starts calls concurrently, so that any
        // of the five may be the rejected one.
        let rejected = client.ask(&stateless_call(5, "blocked", json!({}))).await;
        assert_eq!(rejected["result"]["content"][0]["text"], "the server is busy; call again");
        assert_eq!(entered.available_permits(), 0, "only two calls run");
        open.add_permits(4);
        for _ in 0..4 {
            assert_eq!(client.next().await["result"]["content"][0]["text"], "done");
        }
    })
    .await;
}
