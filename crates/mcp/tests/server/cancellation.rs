//! Tools whose client cancels the call, or goes away.

use super::line_client::{connected, request, stateless_call};
use super::web_client::WebClient;
use ai_services::mcp::McpServer;
use ai_services::model::ToolSpecification;
use ai_services::tool::{Tool, ToolOutput, ToolProgress};
use serde_json::json;
use std::sync::Arc;
use tokio::sync::Notify;

/// The start and the end of a tool that never ends by itself.
#[derive(Clone, Default)]
struct Probe {
    started: Arc<Notify>,
    dropped: Arc<Notify>,
}

struct OnDrop(Arc<Notify>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

fn server(probe: &Probe) -> McpServer {
    let probe = probe.clone();
    let endless = Tool::from_fn(ToolSpecification::new("endless", "Never ends."), move |input| {
        let (started, guard) = (Arc::clone(&probe.started), OnDrop(Arc::clone(&probe.dropped)));
        async move {
            let _guard = guard;
            input.report(ToolProgress::new(1.0));
            started.notify_one();
            std::future::pending().await
        }
    });
    let quick = Tool::from_fn(ToolSpecification::new("quick", "Ends."), |_call| async {
        Ok(ToolOutput::text("done"))
    });
    McpServer::builder("test", "1").tools(vec![endless, quick]).build().unwrap()
}

#[tokio::test]
async fn cancelled_call_drops_the_tool_and_has_no_answer() {
    let probe = Probe::default();
    connected(server(&probe), |mut client| async move {
        client.handshake(json!({})).await;
        client.send(&request(7, "tools/call", json!({ "name": "endless" }))).await;
        probe.started.notified().await;
        let params = json!({ "requestId": 7, "reason": "enough" });
        client
            .send(
                &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }),
            )
            .await;
        probe.dropped.notified().await;
        assert_eq!(client.call("quick", json!({})).await["content"][0]["text"], "done");
    })
    .await;
}

#[tokio::test]
async fn cancellation_of_another_request_has_no_effect() {
    let probe = Probe::default();
    connected(server(&probe), |mut client| async move {
        client.handshake(json!({})).await;
        for id in [json!(99), json!("7"), json!(null)] {
            let params = json!({ "requestId": id });
            client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params })).await;
        }
        assert_eq!(client.call("quick", json!({})).await["content"][0]["text"], "done");
    })
    .await;
}

#[tokio::test]
async fn closed_connection_drops_the_tool() {
    let probe = Probe::default();
    connected(server(&probe), |mut client| {
        let probe = probe.clone();
        async move {
            client.send(&stateless_call(1, "endless", json!({}))).await;
            probe.started.notified().await;
        }
    })
    .await;
    probe.dropped.notified().await;
}

#[tokio::test]
async fn dropped_response_drops_the_tool() {
    let probe = Probe::default();
    let client = WebClient::new(server(&probe).into_http_service());
    let mut call = stateless_call(1, "endless", json!({}));
    call["params"]["_meta"]["progressToken"] = "t".into();
    let mut answer = client.stateless(&call).await;
    assert_eq!(answer.next().await["method"], "notifications/progress");
    drop(answer);
    probe.dropped.notified().await;
}

#[tokio::test]
async fn dropped_request_drops_the_tool() {
    let probe = Probe::default();
    let client = WebClient::new(server(&probe).into_http_service());
    let call = stateless_call(1, "endless", json!({}));
    tokio::select! {
        _ = client.stateless(&call) => panic!("no answer is sent"),
        () = probe.started.notified() => {}
    }
    probe.dropped.notified().await;
}
