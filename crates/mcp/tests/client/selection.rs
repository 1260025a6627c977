//! Names, filters and lists.

use crate::agent::{call, offered};
use crate::scripted_server::{Scripted, text, tool};
use ai_services::ErrorKind;
use ai_services::mcp::{Era, McpTools, RemoteServer, WhenDown};
use ai_services::tool::{Effect, ToolProvider};
use serde_json::{Value, json};
use std::time::Duration;

#[tokio::test]
async fn tools_of_a_server_are_offered_with_its_prefix() {
    let tools = json!([tool("read.file"), tool("write"), tool(&"x".repeat(80))]);
    let answers = json!({"tools/call read.file": text("the file")});
    let server = Scripted::with_tools(tools, answers);
    let tools = McpTools::builder().server(server.server("files")).build().await.unwrap();
    let names = offered(&tools).await.unwrap();
    assert_eq!(names[..2], ["files__read_file", "files__write"]);
    assert_eq!(names[2].len(), 64);
    assert_eq!(tools.tool_names(), Some(names));
    let told = call(&tools, "files__read_file", r#"{"path": "a"}"#).await;
    assert_eq!(told.text(), "the file");
    let params = &server.received("tools/call")[0]["params"];
    assert_eq!(
        (&params["name"], &params["arguments"]),
        (&json!("read.file"), &json!({"path": "a"}))
    );
}

#[tokio::test]
async fn tools_are_filtered_and_renamed() {
    let tools = json!([tool("read_a"), tool("read_b"), tool("write")]);
    let server = Scripted::with_tools(tools, json!({}));
    let remote =
        server.server("s").only(["read_*", "write"]).without(["*_b"]).rename("write", "put");
    let tools = McpTools::builder().server(remote).build().await.unwrap();
    assert_eq!(offered(&tools).await.unwrap(), ["s__read_a", "put"]);
    let remote = server.server("s").only(["read_a"]).without_prefix();
    let tools = McpTools::builder().server(remote).build().await.unwrap();
    assert_eq!(offered(&tools).await.unwrap(), ["read_a"]);
}

#[tokio::test]
async fn two_tools_with_one_name_are_an_error() {
    let one = Scripted::with_tools(json!([tool("a.b"), tool("a/b")]), json!({}));
    let error = McpTools::builder().server(one.server("s")).build().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
    assert!(
        error.to_string().contains("`a.b` and `a/b` of MCP server `s` are both named `s__a_b`")
    );
    let other = Scripted::with_tools(json!([tool("same")]), json!({}));
    let tools = McpTools::builder()
        .server(other.server("s").without_prefix())
        .server(other.server("t").without_prefix());
    let error = tools.build().await.unwrap_err();
    assert!(error.to_string().contains("two MCP servers have a tool `same`"), "{error}");
    let error = McpTools::builder().server(other.server("s")).server(other.server("s"));
    assert!(error.build().await.is_err());
    assert!(McpTools::builder().server(other.server("a b")).build().await.is_err());
}

#[tokio::test]
async fn effects_and_approvals_are_those_of_the_application() {
    let mut read = tool("read");
    read["annotations"] = json!({"readOnlyHint": true});
    let mut put = tool("put");
    put["annotations"] = json!({"idempotentHint": true});
    let server = Scripted::with_tools(json!([read, put, tool("pay")]), json!({}));
    let effects = async |remote: RemoteServer| {
        let tools = McpTools::builder().server(remote).build().await.unwrap();
        let tools = tools.tools().into_iter();
        tools
            .map(|tool| (format!("{:?}", tool.effect()), tool.requires_approval()))
            .collect::<Vec<_>>()
    };
    let once = ("AtMostOnce".to_owned(), false);
    assert_eq!(effects(server.server("s")).await, vec![once.clone(); 3]);
    let trusted = effects(server.server("s").trust_annotations().effect("put", Effect::AtMostOnce));
    assert_eq!(trusted.await, [("ReadOnly".to_owned(), false), once.clone(), once.clone()]);
    let approved = effects(server.server("s").requires_approval(["p*"])).await;
    let approved: Vec<_> = approved.into_iter().map(|(_, requires)| requires).collect();
    assert_eq!(approved, [false, true, true]);
}

#[tokio::test]
async fn changed_list_is_read_again_when_the_server_reports_it() {
    let server = Scripted::with_tools(json!([tool("a")]), json!({}));
    let tools = McpTools::builder().server(server.server("s")).build().await.unwrap();
    assert_eq!(offered(&tools).await.unwrap(), ["s__a"]);
    assert_eq!(server.received("tools/list").len(), 1);
    let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
    let answer = json!({"result": {"content": []}, "steps": [{"send": changed}]});
    server.replace(&json!({
        "tools/list": {"result": {"tools": [tool("b")]}},
        "tools/call a": answer,
    }));
    call(&tools, "s__a", "{}").await;
    let names = until_offered(&tools, "s__b").await;
    assert_eq!(names, ["s__b"]);
}

pub(crate) async fn until_offered(tools: &McpTools, name: &str) -> Vec<String> {
    for _ in 0..1_000 {
        let names = offered(tools).await.unwrap();
        if names.iter().any(|offered| offered == name) {
            return names;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("{name} is not offered");
}

#[tokio::test]
async fn pages_are_joined() {
    let server = Scripted::new(json!({
        "tools/list": {"result": {"tools": [tool("a")], "nextCursor": "two"}},
        "tools/list two": {"result": {"tools": [tool("b")], "nextCursor": "three"}},
        "tools/list three": {"result": {"tools": [tool("c")]}},
    }));
    let tools = McpTools::builder().server(server.server("s")).build().await.unwrap();
    assert_eq!(offered(&tools).await.unwrap(), ["s__a", "s__b", "s__c"]);
}

#[tokio::test]
async fn server_that_is_down_fails_or_is_skipped() {
    let down = || RemoteServer::stdio("down", "/nonexistent/mcp-server");
    let error = McpTools::builder().server(down()).build().await.unwrap_err();
    assert!(error.to_string().contains("`down` cannot be started"), "{error}");
    let skipped = down().when_down(WhenDown::Skip);
    assert!(McpTools::builder().server(skipped).build().await.is_ok());
    let refused = || RemoteServer::http("down", "http://127.0.0.1:9/mcp");
    let error = McpTools::builder().server(refused()).build().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Connection, "{error}");
    let up = Scripted::with_tools(json!([tool("a")]), json!({}));
    let tools = McpTools::builder()
        .server(refused().when_down(WhenDown::Skip))
        .server(up.server("up"))
        .build()
        .await
        .unwrap();
    assert_eq!(offered(&tools).await.unwrap(), ["up__a"]);
    assert_eq!(tools.tool_names(), None);
}

#[tokio::test]
async fn era_is_probed() {
    let legacy = Scripted::with_tools(json!([tool("a")]), json!({}));
    let tools =
        McpTools::builder().server(legacy.server("s").era(Era::Probe)).build().await.unwrap();
    assert_eq!(offered(&tools).await.unwrap(), ["s__a"]);
    assert_eq!(legacy.received("server/discover").len(), 1);
    // A server that never answers the probe, and one that ends.
    for probe in [json!({}), json!({"steps": [{"exit": 1}]})] {
        let legacy = Scripted::with_tools(json!([tool("a")]), json!({"server/discover": probe}));
        let remote = legacy.server("s").era(Era::Probe);
        let tools = McpTools::builder().server(remote).build().await.unwrap();
        assert_eq!(offered(&tools).await.unwrap(), ["s__a"]);
        assert_eq!(legacy.received("initialize").len(), 1);
    }
    let error = McpTools::builder().server(legacy.server("s").era(Era::Modern)).build().await;
    assert!(error.is_err());
}

/// Returns the script of a modern server with this tool, whose call is answered like this.
fn modern(tool: Value, called: Value) -> Value {
    json!({
        "server/discover": {"result": {
            "resultType": "complete",
            "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {"listChanged": true}},
            "ttlMs": 0, "cacheScope": "private",
        }},
        "subscriptions/listen": {"steps": [{"acknowledge": {"toolsListChanged": true}}]},
        "tools/list": {"result": {
            "resultType": "complete", "ttlMs": 1_000_000, "cacheScope": "private", "tools": [tool],
        }},
        "tools/call": called,
    })
}

#[tokio::test]
async fn modern_server_is_not_initialized() {
    let server = Scripted::new(modern(tool("a"), text("modern")));
    let remote = server.server("s").era(Era::Probe);
    let tools = McpTools::builder().server(remote).build().await.unwrap();
    assert_eq!(call(&tools, "s__a", "{}").await.text(), "modern");
    assert_eq!(server.received("initialize").len(), 0);
    assert_eq!(server.received("tools/list").len(), 1);
    let meta = &server.received("tools/call")[0]["params"]["_meta"];
    assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
}

#[tokio::test]
async fn subscriber_of_a_modern_server_lists_changed_tools_again() {
    let server = Scripted::new(modern(tool("a"), json!({})));
    let remote = server.server("s").era(Era::Modern);
    let tools = McpTools::builder().server(remote).build().await.unwrap();
    let mut called = text("done");
    called["steps"] = json!([{"notify": "tools/list_changed"}]);
    server.replace(&modern(tool("b"), called));
    assert_eq!(call(&tools, "s__a", "{}").await.text(), "done");
    assert_eq!(until_offered(&tools, "s__b").await, ["s__b"]);
}

#[tokio::test]
async fn list_is_read_again_at_the_end_of_its_life() {
    let mut script = modern(tool("a"), json!({}));
    script["tools/list"]["result"]["ttlMs"] = json!(0);
    let server = Scripted::new(script.clone());
    let remote = server.server("s").era(Era::Modern);
    let tools = McpTools::builder().server(remote).build().await.unwrap();
    offered(&tools).await.unwrap();
    assert_eq!(server.received("tools/list").len(), 1, "a list lives for at least a second");
    script["tools/list"]["result"]["tools"] = json!([tool("b")]);
    server.replace(&script);
    assert_eq!(until_offered(&tools, "s__b").await, ["s__b"]);
}
