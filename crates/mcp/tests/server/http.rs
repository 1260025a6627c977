//! The checks of HTTP requests.

use super::line_client::{initialize, request, stateless, stateless_call};
use super::web_client::WebClient;
use ai_services::mcp::{McpPrincipal, McpServer, McpServerBuilder};
use ai_services::memory::MemoryId;
use ai_services::{Error, ErrorKind, InvocationContext, tool};
use http::StatusCode;
use serde_json::json;

struct Tenant(&'static str);

/// Greets the caller.
#[tool(read_only)]
async fn greet(
    #[memory_id] caller: Option<&MemoryId>,
    #[context] context: &InvocationContext,
) -> String {
    let tenant = context.get::<Tenant>().map_or("-", |tenant| tenant.0);
    format!("Hello, {} of {tenant}!", caller.map_or("nobody", MemoryId::as_str))
}

fn builder() -> McpServerBuilder {
    McpServer::builder("test", "1").tools(greet::tool())
}

fn client(builder: McpServerBuilder) -> WebClient {
    WebClient::new(builder.build().unwrap().into_http_service())
}

fn greeting() -> serde_json::Value {
    stateless_call(1, "greet", json!({ "caller": "mallory" }))
}

#[tokio::test]
async fn both_eras_share_an_endpoint() {
    let client = client(builder());
    let session = client.session(json!({})).await;
    let call = request(1, "tools/call", json!({ "name": "greet", "arguments": {} }));
    for mut answer in [session.post(&call).await, client.stateless(&greeting()).await] {
        assert_eq!(answer.status, StatusCode::OK);
        assert_eq!(answer.next().await["result"]["content"][0]["text"], "Hello, nobody of -!");
    }
}

#[tokio::test]
async fn host_and_origin_are_checked() {
    let client = client(
        builder().allowed_host("mcp.example.com").allowed_origin("https://app.example.com:443"),
    );
    let status = async |name: &str, value: &str| {
        client.with(name, value).stateless(&greeting()).await.status
    };
    for host in ["localhost", "127.0.0.1:8000", "[::1]:8000", "mcp.example.com"] {
        assert_eq!(status("host", host).await, StatusCode::OK, "{host}");
    }
    for host in ["evil.example.com", "localhost.evil.example.com", "mcp.example.com.evil"] {
        assert_eq!(status("host", host).await, StatusCode::FORBIDDEN, "{host}");
    }
    for origin in ["http://localhost:3000", "http://[::1]:1", "https://app.example.com"] {
        assert_eq!(status("origin", origin).await, StatusCode::OK, "{origin}");
    }
    for origin in ["http://evil.example.com", "https://app.example.com:8443", "null", "", "x"] {
        assert_eq!(status("origin", origin).await, StatusCode::FORBIDDEN, "{origin}");
    }
}

#[tokio::test]
async fn headers_must_match_the_body() {
    let client = client(builder()).with("mcp-protocol-version", "2026-07-28");
    let call = client.with("mcp-method", "tools/call");
    for wrong in [
        client.with("mcp-method", "tools/list").with("mcp-name", "greet"),
        client.with("mcp-name", "greet"),
        call.with("mcp-name", "other"),
        call.with("mcp-name", "greet").with("mcp-protocol-version", "2025-11-25"),
    ] {
        let mut answer = wrong.post(&greeting()).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST);
        let error = answer.next().await;
        assert_eq!((&error["id"], &error["error"]["code"]), (&json!(1), &json!(-32020)), "{error}");
    }
    let right = call.with("mcp-name", "greet").post(&greeting()).await;
    assert_eq!(right.status, StatusCode::OK);
}

#[tokio::test]
async fn caller_is_the_principal_and_its_context() {
    let client = client(builder().principal(|request| {
        let key = request.headers.get("authorization").and_then(|key| key.to_str().ok());
        match key {
            Some("Bearer ann") => Ok(McpPrincipal::new("ann")
                .with_context(InvocationContext::new().with(Tenant("acme")))),
            Some(_) => Ok(McpPrincipal::new("")),
            None => Err(Error::new(ErrorKind::Authentication, "no key")),
        }
    }));
    let mut answer = client.with("authorization", "Bearer ann").stateless(&greeting()).await;
    assert_eq!(answer.next().await["result"]["content"][0]["text"], "Hello, ann of acme!");
    let list = request(1, "tools/list", json!({ "_meta": stateless(json!({})) }));
    for client in [client.with("authorization", "Bearer x"), client] {
        for message in [&greeting(), &list] {
            assert_eq!(client.stateless(message).await.status, StatusCode::UNAUTHORIZED);
        }
        assert_eq!(client.post(&initialize(json!({}))).await.status, StatusCode::UNAUTHORIZED);
    }
}

#[tokio::test]
async fn body_is_bounded() {
    let client = client(builder().max_request_bytes(1000));
    let mut long = greeting();
    long["params"]["arguments"]["text"] = "x".repeat(1000).into();
    assert_eq!(client.stateless(&long).await.status, StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(client.stateless(&greeting()).await.status, StatusCode::OK);
}

#[tokio::test]
async fn values_of_a_body_are_limited() {
    let client = client(builder());
    let mut many = greeting();
    many["params"]["arguments"]["values"] = vec![0; 260_000].into();
    assert_eq!(client.stateless(&many).await.status, StatusCode::PAYLOAD_TOO_LARGE);
    many["params"]["arguments"]["values"] = ",".repeat(260_000).into();
    assert_eq!(client.stateless(&many).await.status, StatusCode::OK);
}

#[tokio::test]
async fn unusual_requests_get_a_status() {
    let client = client(builder());
    let body = greeting().to_string();
    for (client, method, status) in [
        (client.with("content-type", "text/plain"), "POST", StatusCode::UNSUPPORTED_MEDIA_TYPE),
        (client.with("accept", "text/html"), "POST", StatusCode::NOT_ACCEPTABLE),
        (client.with("x", "y"), "PUT", StatusCode::METHOD_NOT_ALLOWED),
        (client.with("x", "y"), "OPTIONS", StatusCode::METHOD_NOT_ALLOWED),
        (client.with("mcp-protocol-version", "2999-01-01"), "GET", StatusCode::BAD_REQUEST),
    ] {
        assert_eq!(client.send(method, body.clone()).await.status, status, "{method}");
    }
}
