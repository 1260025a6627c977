//! Servers that are reached by HTTP.

use crate::agent::{call, call_with, offered};
use crate::http_server::{Answer, HttpServer};
use crate::scripted_server::{Scripted, tool};
use crate::selection::until_offered;
use ai_services::mcp::{Era, McpTools, RemoteServer, WhenDown};
use ai_services::{ErrorKind, InvocationContext};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::net::TcpListener;

/// Answers like a server with the tool `act`, except for its calls.
fn listing(message: &Value, called: impl Fn() -> Answer) -> Answer {
    match message["method"].as_str().unwrap() {
        "initialize" => Answer::Result(json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "scripted", "version": "1"},
        })),
        "tools/list" => Answer::Result(json!({"tools": [tool("act")]})),
        "tools/call" => called(),
        _ => Answer::Status("400 Bad Request"),
    }
}

fn done() -> Answer {
    Answer::Result(json!({"content": [{"type": "text", "text": "done"}]}))
}

async fn connected(server: &HttpServer) -> McpTools {
    let remote = RemoteServer::http("s", &server.url).era(Era::Legacy);
    McpTools::builder().server(remote).build().await.unwrap()
}

#[tokio::test]
async fn tool_is_called_by_http_after_a_probe() {
    let server = HttpServer::new(|message| listing(message, done)).await;
    let remote = RemoteServer::http("s", &server.url).header("x-team", "blue");
    let tools = McpTools::builder().server(remote).build().await.unwrap();
    assert_eq!(call(&tools, "s__act", r#"{"a": 1}"#).await.text(), "done");
    let calls = server.calls();
    assert_eq!(calls[0].message["params"]["arguments"], json!({"a": 1}));
    assert_eq!(calls[0].headers["x-team"], "blue");
    assert_eq!(calls[0].headers["mcp-protocol-version"], "2025-11-25");
}

#[tokio::test]
async fn headers_of_a_call_come_from_its_context() {
    struct Token(&'static str);
    let server = HttpServer::new(|message| listing(message, done)).await;
    let remote = RemoteServer::http("s", &server.url).era(Era::Legacy).call_headers(|context| {
        let token = context.get::<Token>();
        token.map(|token| ("authorization".to_owned(), token.0.to_owned())).into_iter().collect()
    });
    let tools = McpTools::builder().server(remote).build().await.unwrap();
    for token in ["ann", "bob"] {
        let context = InvocationContext::new().with(Token(token));
        assert_eq!(call_with(&tools, "s__act", "{}", &context).await.text(), "done");
    }
    let tokens: Vec<_> =
        server.calls().into_iter().map(|call| call.headers["authorization"].clone()).collect();
    assert_eq!(tokens, ["ann", "bob"]);
    let received = server.received.lock().unwrap();
    assert!(!received[0].headers.contains_key("authorization"));
}

#[tokio::test]
async fn call_that_is_cut_anywhere_has_an_unknown_outcome_and_is_not_repeated() {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    let cut = || Answer::Cut(CALLS.fetch_add(1, Ordering::SeqCst));
    let server = HttpServer::new(move |message| listing(message, cut)).await;
    let tools = connected(&server).await;
    for number in 1..=200 {
        call(&tools, "s__act", "{}").await.is_unknown("");
        assert_eq!(server.calls().len(), number);
    }
}

#[tokio::test]
async fn status_of_a_gateway_has_an_unknown_outcome() {
    let server =
        HttpServer::new(|message| listing(message, || Answer::Status("504 Gateway Timeout"))).await;
    let tools = connected(&server).await;
    call(&tools, "s__act", "{}").await.is_unknown("HTTP 504");
    assert_eq!(server.calls().len(), 1);
}

#[tokio::test]
async fn refused_call_is_an_error() {
    let server =
        HttpServer::new(|message| listing(message, || Answer::Status("429 Too Many Requests")))
            .await;
    let tools = connected(&server).await;
    call(&tools, "s__act", "{}").await.is_error("too many requests");
}

#[tokio::test]
async fn server_that_is_gone_is_an_error_and_nothing_was_sent() {
    let server = HttpServer::new(|message| listing(message, done)).await;
    let tools = connected(&server).await;
    assert_eq!(call(&tools, "s__act", "{}").await.text(), "done");
    drop(server);
    // The listener is closed when its task has ended.
    tokio::task::yield_now().await;
    call(&tools, "s__act", "{}").await.is_error("no connection to MCP server `s`");
}

#[tokio::test]
async fn servers_that_are_down_cost_one_time_limit_together() {
    const LIMIT: Duration = Duration::from_secs(2);
    // Accepts no connection, so that each attempt waits.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let silent = Scripted::new(json!({"initialize": {}, "server/discover": {}}));
    let server = HttpServer::new(|message| listing(message, done)).await;
    let up = RemoteServer::http("up", &server.url).era(Era::Legacy);
    let mut builder = McpTools::builder().server(up);
    for number in 0..10 {
        let by_http = RemoteServer::http(format!("http{number}"), &url);
        for down in [by_http, silent.server(&format!("stdio{number}")).era(Era::Probe)] {
            builder = builder.server(down.connect_timeout(LIMIT).when_down(WhenDown::Skip));
        }
    }
    let started = Instant::now();
    let tools = builder.build().await.unwrap();
    assert!(started.elapsed() < LIMIT * 3, "{:?}", started.elapsed());
    assert_eq!(call(&tools, "up__act", "{}").await.text(), "done");
}

#[tokio::test]
async fn skipped_server_is_used_once_it_works() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let remote = RemoteServer::http("s", format!("http://{address}/mcp")).era(Era::Legacy);
    let remote = remote.when_down(WhenDown::Skip);
    let tools = McpTools::builder().server(remote).build().await.unwrap();
    assert_eq!(offered(&tools).await.unwrap(), Vec::<String>::new());
    let listener = TcpListener::bind(address).await.unwrap();
    let _server = HttpServer::at(listener, |message| listing(message, done));
    assert_eq!(until_offered(&tools, "s__act").await, ["s__act"]);
    assert_eq!(call(&tools, "s__act", "{}").await.text(), "done");
}

#[tokio::test]
async fn rejected_credentials_are_named() {
    static REQUESTS: AtomicUsize = AtomicUsize::new(0);
    let server = HttpServer::new(|_| {
        REQUESTS.fetch_add(1, Ordering::SeqCst);
        Answer::Status("401 Unauthorized\r\nwww-authenticate: Bearer")
    })
    .await;
    let remote = RemoteServer::http("s", &server.url).header("authorization", "Bearer SECRET");
    let error = McpTools::builder().server(remote).build().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Authentication);
    assert_eq!(error.to_string(), "MCP server `s` rejected the credentials");
    assert_eq!(REQUESTS.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn invalid_urls_and_headers_are_errors() {
    for remote in [
        RemoteServer::http("s", "file:///etc/passwd"),
        RemoteServer::http("s", "nonsense"),
        RemoteServer::http("s", "http://127.0.0.1:9/").header("a b", "c"),
        RemoteServer::http("s", "http://127.0.0.1:9/").header("Accept", "c"),
    ] {
        let error = McpTools::builder().server(remote).build().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration, "{error}");
    }
}
