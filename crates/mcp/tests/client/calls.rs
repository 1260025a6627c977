//! Calls: results, errors, lost answers, progress and cancellation.

use crate::agent::{Agent, AgentService, call, call_tool};
use crate::scripted_server::{Scripted, text, tool, until};
use ai_services::mcp::{McpTools, RemoteServer, STRUCTURED_CONTENT, USER_CONTENT};
use ai_services::message::{Content, ToolCall};
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::tool::{Effect, ToolArgumentsPolicy};
use ai_services::{ErrorKind, InvocationContext, event};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// Returns the tools of a server with one tool, `act`, that is answered like this.
async fn acting(answer: Value) -> (Scripted, McpTools) {
    acting_at(answer, |server| server).await
}

async fn acting_at(
    answer: Value,
    configure: impl FnOnce(RemoteServer) -> RemoteServer,
) -> (Scripted, McpTools) {
    let server = Scripted::with_tools(json!([tool("act")]), json!({"tools/call act": answer}));
    let remote = configure(server.server("s"));
    let tools = McpTools::builder().server(remote).build().await.unwrap();
    (server, tools)
}

async fn told(answer: Value) -> crate::agent::Told {
    let (_server, tools) = acting(answer).await;
    call(&tools, "s__act", "{}").await
}

#[tokio::test]
async fn contents_of_all_kinds_reach_the_model() {
    let told = told(json!({"result": {"content": [
        {"type": "text", "text": "one"},
        {"type": "image", "data": PIXEL, "mimeType": "image/png"},
        {"type": "image", "data": "!!", "mimeType": "image/png"},
        {"type": "resource", "resource": {"uri": "file:///a", "text": "embedded"}},
        {"type": "resource_link", "uri": "file:///b", "name": "b.txt", "mimeType": "text/plain", "size": 3},
        {"type": "text", "text": "for the user", "annotations": {"audience": ["user"]}},
    ]}}))
    .await;
    let contents = told.contents();
    let texts: Vec<_> = contents.iter().map(|content| content.text().unwrap_or("media")).collect();
    assert_eq!(
        texts,
        [
            "one",
            "media",
            "[image, image/png, 0 bytes: cannot be shown]",
            "embedded",
            "Resource: b.txt (text/plain, 3 bytes): file:///b",
        ]
    );
    assert!(matches!(contents[1], Content::Image(_)));
    let attributes = told.result.attributes().unwrap();
    assert_eq!(attributes[USER_CONTENT][0]["text"], "for the user");
}

#[tokio::test]
async fn structured_content_is_sent_once_and_kept() {
    let structured = json!({"a": 1});
    for (content, expected) in [
        (json!([]), vec![r#"{"a":1}"#]),
        (json!([{"type": "text", "text": "{ \"a\": 1 }"}]), vec![r#"{ "a": 1 }"#]),
        (json!([{"type": "text", "text": "one"}]), vec!["one", r#"{"a":1}"#]),
    ] {
        let told =
            told(json!({"result": {"content": content, "structuredContent": structured}})).await;
        let texts: Vec<_> = told.contents().iter().map(|content| content.text().unwrap()).collect();
        assert_eq!(texts, expected);
        assert_eq!(told.result.attributes().unwrap()[STRUCTURED_CONTENT], structured);
    }
}

#[tokio::test]
async fn errors_are_told_to_the_model() {
    let failed = json!({"content": [{"type": "text", "text": "sold out"}], "isError": true});
    told(json!({"result": failed})).await.is_error("sold out");
    told(json!({"result": {"content": [], "isError": true}})).await.is_error("without a message");
    let unknown = json!({"code": -32602, "message": "Unknown tool: act\u{202e}"});
    told(json!({"error": unknown})).await.is_error("Unknown tool: act");
    let internal = json!({"code": -32603, "message": "database down"});
    told(json!({"error": internal})).await.is_error("database down (error -32603)");
}

#[tokio::test]
async fn arguments_that_the_server_rejects_follow_the_policy() {
    let rejected = json!({"error": {"code": -32602, "message": "no such city"}});
    let (_server, tools) = acting(rejected).await;
    let model =
        ScriptedChatModel::new([ScriptedAnswer::tool_calls([ToolCall::new("1", "s__act", "{}")])]);
    let agent = AgentService::builder().chat_model(model).tool_provider(tools);
    let agent = agent.tool_arguments_policy(ToolArgumentsPolicy::Fail).build().unwrap();
    let error = agent.chat(&InvocationContext::new(), "go").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Tool);
    assert!(error.to_string().contains("no such city"), "{error}");
}

#[tokio::test]
async fn arguments_that_are_not_an_object_are_not_sent() {
    let (server, tools) = acting(text("done")).await;
    call(&tools, "s__act", "[1]").await.is_error("object");
    assert_eq!(call(&tools, "s__act", "").await.text(), "done");
    assert_eq!(server.received("tools/call").len(), 1);
}

#[tokio::test]
async fn call_without_an_answer_has_an_unknown_outcome() {
    let limit = Duration::from_millis(200);
    let (server, tools) = acting_at(json!({}), |server| server.call_timeout(limit)).await;
    call(&tools, "s__act", "{}").await.is_unknown("did not answer within 200ms");
    let call_id = server.received("tools/call")[0]["id"].clone();
    let cancelled = server.wait_for("notifications/cancelled").await;
    assert_eq!(cancelled["params"]["requestId"], call_id);
}

#[tokio::test]
async fn call_whose_connection_breaks_has_an_unknown_outcome_and_is_not_repeated() {
    let (server, tools) = acting(json!({"steps": [{"exit": 1}]})).await;
    call(&tools, "s__act", "{}").await.is_unknown("the connection broke");
    assert_eq!(server.received("tools/call").len(), 1);
    // The next call connects again.
    server.replace(&json!({
        "tools/list": {"result": {"tools": [tool("act")]}}, "tools/call act": text("back"),
    }));
    let told = call(&tools, "s__act", "{}").await;
    assert_eq!(told.text(), "back");
    assert_eq!(server.received("initialize").len(), 2);
    assert_eq!(server.received("tools/call").len(), 2);
}

#[tokio::test]
async fn lost_call_of_a_tool_that_only_reads_is_a_plain_error() {
    let answer = json!({"steps": [{"exit": 1}]});
    let (_server, tools) = acting_at(answer, |server| server.effect("*", Effect::ReadOnly)).await;
    call(&tools, "s__act", "{}").await.is_error("the connection broke");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn connection_that_broke_before_a_call_is_opened_again() {
    let (server, tools) = acting(text("done")).await;
    let pid = std::fs::read_to_string(server.path("pid")).unwrap();
    assert!(std::process::Command::new("kill").args(["-9", &pid]).status().unwrap().success());
    // The process is reaped after the end of the connection was noticed.
    until(|| (!Path::new("/proc").join(&pid).exists()).then_some(())).await;
    let [act] = &tools.tools()[..] else { panic!("not one tool") };
    // The tool of the old listing, so that the call itself finds the broken connection.
    let model = ScriptedChatModel::new([
        ScriptedAnswer::tool_calls([ToolCall::new("1", "s__act", "{}")]),
        ScriptedAnswer::text("Done."),
    ]);
    let agent = AgentService::builder().chat_model(model).tools(act.clone()).build().unwrap();
    let response = agent.chat(&InvocationContext::new(), "go").await.unwrap();
    let execution = &response.tool_executions[0];
    assert!(!execution.has_unknown_outcome());
    assert_eq!(execution.result().text(), Some("done"));
    assert_eq!(server.received("tools/call").len(), 1);
}

#[tokio::test]
async fn dropped_call_is_cancelled_at_the_server() {
    let (server, tools) = acting(json!({})).await;
    let calling = call(&tools, "s__act", "{}");
    tokio::select! {
        told = calling => panic!("{told:?}"),
        _ = server.wait_for("tools/call") => {}
    }
    let cancelled = server.wait_for("notifications/cancelled").await;
    assert_eq!(cancelled["params"]["requestId"], server.received("tools/call")[0]["id"]);
}

#[tokio::test]
async fn progress_is_reported_and_extends_the_time_limit() {
    use std::sync::{Arc, Mutex};

    let seen = Arc::new(Mutex::new(Vec::new()));
    let steps = json!([{"progress": 1}, {"await_file": "go"}]);
    let answer = json!({"steps": steps, "result": {"content": [{"type": "text", "text": "done"}]}});
    let (server, tools) = acting(answer).await;
    let model = ScriptedChatModel::new([
        ScriptedAnswer::tool_calls([ToolCall::new("1", "s__act", "{}")]),
        ScriptedAnswer::text("Done."),
    ]);
    let listener = {
        let (seen, go) = (Arc::clone(&seen), server.path("go"));
        move |_: &event::Call<'_>, event: &event::Event<'_>| {
            if let event::Event::ToolProgressed { progress, .. } = event {
                seen.lock().unwrap().push(progress.completed);
                std::fs::write(&go, "").unwrap();
            }
        }
    };
    let agent = AgentService::builder().chat_model(model).tool_provider(tools).listener(listener);
    let response = agent.build().unwrap().chat(&InvocationContext::new(), "go").await.unwrap();
    assert_eq!(response.tool_executions[0].result().text(), Some("done"));
    assert_eq!(*seen.lock().unwrap(), [1.0]);
}

#[tokio::test]
async fn calls_beyond_the_limit_wait() {
    let answer = json!({"steps": [{"await_file": "go"}], "result": {"content": []}});
    let (server, tools) = acting_at(answer, |server| server.max_concurrent_calls(1)).await;
    let go = async {
        until(|| server.received("tools/call").pop()).await;
        std::fs::write(server.path("go"), "").unwrap();
    };
    tokio::join!(call(&tools, "s__act", "{}"), call(&tools, "s__act", "{}"), go);
    assert_eq!(server.received("tools/call").len(), 2);
}

#[tokio::test]
async fn call_that_waits_for_a_slot_until_its_time_limit_is_not_sent() {
    let answer = json!({"steps": [{"await_file": "go"}], "result": {"content": []}});
    let (server, tools) = acting_at(answer, |server| server.max_concurrent_calls(1)).await;
    let hurried = tools.tools()[0].clone().with_timeout(Duration::from_millis(300));
    let waiting = async {
        server.wait_for("tools/call").await;
        let told = call_tool(hurried, "s__act").await;
        std::fs::write(server.path("go"), "").unwrap();
        told
    };
    let (first, told) = tokio::join!(call(&tools, "s__act", "{}"), waiting);
    assert!(!first.is_unknown && !first.result.is_error(), "{first:?}");
    told.is_error("the call was not sent");
    assert_eq!(server.received("tools/call").len(), 1);
}
