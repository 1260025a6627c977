//! Limits and authentication.

use crate::client::{open, post, request, send};
use crate::fixture::{hello, server};
use ai_services::memory::{ChatMemoryStore, InMemoryChatMemoryStore, MemoryId, ToMemoryId};
use ai_services::serve::ChatServer;
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::{AnswerStream, Error, ErrorKind};
use http::{HeaderValue, StatusCode};
use serde_json::{Value, json};
use std::time::Duration;

fn run(thread: &str) -> Value {
    json!({
        "threadId": thread, "runId": "r", "tools": [], "context": [],
        "messages": [{ "id": "m", "role": "user", "content": "Hi!" }],
    })
}

const PATHS: [&str; 4] =
    ["/v1/chat/completions", "/v1/responses", "/ui/assistant", "/ag-ui/assistant"];

#[tokio::test]
async fn request_without_a_principal_gets_401() {
    let model = ScriptedChatModel::new([hello()]);
    let server = server(model.clone(), &InMemoryChatMemoryStore::new()).build().unwrap();
    for path in PATHS {
        // The name of the principal is empty in the second case.
        for principal in ["nobody", ""] {
            let answer = send(&server, request(path, principal, &run("t"))).await;
            assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{path}");
            assert!(!String::from_utf8_lossy(&answer.body).contains("vault"));
        }
    }
    assert!(model.requests().is_empty());
}

#[tokio::test]
async fn body_of_a_form_gets_415_and_a_large_one_413() {
    let server = server(ScriptedChatModel::new([]), &InMemoryChatMemoryStore::new());
    let server = server.max_body_bytes(1000).build().unwrap();
    for path in PATHS {
        let mut form = post(path, &run("t"));
        form.headers_mut().insert("content-type", HeaderValue::from_static("text/plain"));
        assert_eq!(send(&server, form).await.status, StatusCode::UNSUPPORTED_MEDIA_TYPE);
        let large = post(path, &json!("x".repeat(1000)));
        assert_eq!(send(&server, large).await.status, StatusCode::PAYLOAD_TOO_LARGE);
    }
}

#[tokio::test]
async fn call_above_the_limit_gets_503_until_one_ends() {
    let model = ScriptedChatModel::from_fn(|_, _| hello());
    let server = server(model, &InMemoryChatMemoryStore::new());
    let server = server.max_concurrent_calls(1).build().unwrap();
    let first = open(&server, post("/ag-ui/assistant", &run("a"))).await;
    let second = send(&server, post("/ag-ui/assistant", &run("b"))).await;
    assert_eq!(
        (second.status, second.header("retry-after")),
        (StatusCode::SERVICE_UNAVAILABLE, "1")
    );
    drop(first);
    assert_eq!(send(&server, post("/ag-ui/assistant", &run("b"))).await.status, StatusCode::OK);
}

#[tokio::test(start_paused = true)]
async fn answer_ends_at_the_time_limit() {
    let slow = || ScriptedAnswer::text("late").after(Duration::from_secs(60));
    let store = InMemoryChatMemoryStore::new();
    let server = server(ScriptedChatModel::from_fn(move |_, _| slow()), &store);
    let server = server.time_limit(Duration::from_secs(20)).build().unwrap();
    let answer = send(&server, post("/ag-ui/assistant", &run("t"))).await;
    assert_eq!(answer.events().last().unwrap()["code"], "timeout");
    // A comment kept the connection alive meanwhile.
    assert!(String::from_utf8_lossy(&answer.body).contains(": keep-alive\n\n"));
    let body = json!({ "model": "assistant", "messages": [{ "role": "user", "content": "Hi!" }] });
    let answer = send(&server, post("/v1/chat/completions", &body)).await;
    assert_eq!(answer.status, StatusCode::GATEWAY_TIMEOUT);
    assert!(stored(&store, "t").await.is_empty());
}

async fn stored(
    store: &InMemoryChatMemoryStore,
    thread: &str,
) -> Vec<ai_services::message::ChatMessage> {
    let id: MemoryId = ("ann", thread).to_memory_id();
    store.get_messages(&id).await.unwrap()
}

#[test]
fn inconsistent_server_is_not_built() {
    let service = |builder: ai_services::serve::ChatServerBuilder, name: &str| {
        builder.service(name, |_| AnswerStream::from_events(futures_util::stream::empty()))
    };
    let authenticated = || {
        ChatServer::builder()
            .authenticate(async |_| Err(Error::new(ErrorKind::Authentication, "no")))
    };
    let cases = [
        service(ChatServer::builder(), "a"),
        authenticated(),
        service(authenticated(), ""),
        service(authenticated(), "a/b"),
        service(service(authenticated(), "a"), "a"),
        service(authenticated(), "a").conversation_header("a b"),
        service(authenticated(), "a").max_body_bytes(0),
        service(authenticated(), "a").max_concurrent_calls(0),
        service(authenticated(), "a").time_limit(Duration::ZERO),
    ];
    for case in cases {
        assert_eq!(case.build().unwrap_err().kind(), ErrorKind::Configuration);
    }
}
