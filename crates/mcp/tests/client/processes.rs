//! Child processes: environment, and their end.

use crate::agent::call;
use crate::scripted_server::{Scripted, tool, until};
use ai_services::mcp::McpTools;
use serde_json::json;
use std::path::Path;

#[tokio::test]
async fn server_gets_only_the_allowed_environment() {
    let steps = json!({"steps": [{"environment": 1}], "result": {"content": []}});
    let server = Scripted::with_tools(json!([tool("act")]), json!({"tools/call act": steps}));
    let allowed = ["HOME", "LANG", "LC_ALL", "PATH", "TMPDIR", "TZ", "USER"];
    let other = std::env::vars().map(|(name, _)| name).find(|name| !allowed.contains(&&**name));
    let other = other.unwrap();
    let remote = server.server("s").env("SECRET_OF_THE_SERVER", "1").inherit_env(&other);
    let tools = McpTools::builder().server(remote).build().await.unwrap();
    call(&tools, "s__act", "{}").await;
    let names = std::fs::read_to_string(server.path("environment")).unwrap();
    let mut names: Vec<_> = names.lines().collect();
    names.sort_unstable();
    names.retain(|name| !allowed.contains(name));
    let mut expected = [&*other, "SCRIPTED_MCP_SERVER", "SECRET_OF_THE_SERVER"];
    expected.sort_unstable();
    assert_eq!(names, expected);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn dropped_tools_leave_no_process() {
    let steps = json!({"steps": [{"spawn": 1}], "result": {"content": []}});
    let server = Scripted::with_tools(json!([tool("act")]), json!({"tools/call act": steps}));
    let tools = McpTools::builder().server(server.server("s")).build().await.unwrap();
    call(&tools, "s__act", "{}").await;
    let pids =
        ["pid", "grandchild"].map(|file| std::fs::read_to_string(server.path(file)).unwrap());
    for pid in &pids {
        assert!(is_running(pid));
    }
    drop(tools);
    for pid in &pids {
        until(|| (!is_running(pid)).then_some(())).await;
    }
    // A zombie would keep the entry.
    until(|| (!Path::new("/proc").join(&pids[0]).exists()).then_some(())).await;
}

/// Returns `false` for a zombie, too: the grandchild belongs to the system's first process.
fn is_running(pid: &str) -> bool {
    let status = std::fs::read_to_string(Path::new("/proc").join(pid).join("stat"));
    status.is_ok_and(|status| !status.contains(") Z "))
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn server_that_fails_to_connect_leaves_no_process() {
    let limit = std::time::Duration::from_secs(1);
    let server = Scripted::new(json!({"initialize": {}}));
    let building = McpTools::builder().server(server.server("s").connect_timeout(limit)).build();
    assert!(building.await.is_err());
    let pid = std::fs::read_to_string(server.path("pid")).unwrap();
    until(|| (!Path::new("/proc").join(&pid).exists()).then_some(())).await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
#[ignore = "takes a minute"]
async fn thousand_connections_leave_no_process() {
    let server = Scripted::with_tools(json!([tool("act")]), json!({}));
    let mut pids = std::collections::BTreeSet::new();
    for _ in 0..1_000 {
        let tools = McpTools::builder().server(server.server("s")).build().await.unwrap();
        pids.insert(std::fs::read_to_string(server.path("pid")).unwrap());
        drop(tools);
    }
    for pid in pids {
        until(|| (!Path::new("/proc").join(&pid).exists()).then_some(())).await;
    }
}
