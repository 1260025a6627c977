//! OpenAI chat completions.

use crate::client::{Answer, post, send};
use crate::fixture::{deletion, hello, server, weather};
use ai_services::ErrorKind;
use ai_services::memory::InMemoryChatMemoryStore;
use ai_services::message::ChatMessage;
use ai_services::model::ChatModel;
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use http::{Request, StatusCode};
use serde_json::{Value, json};

const PATH: &str = "/v1/chat/completions";

async fn ask(model: impl ChatModel + 'static, body: Value) -> Answer {
    let server = server(model, &InMemoryChatMemoryStore::new()).build().unwrap();
    send(&server, post(PATH, &body)).await
}

fn body(text: &str) -> Value {
    json!({ "model": "assistant", "messages": [{ "role": "user", "content": text }] })
}

fn streamed(text: &str) -> Value {
    let mut body = body(text);
    body["stream"] = true.into();
    body["stream_options"] = json!({ "include_usage": true });
    body
}

/// Returns the text of a stream.
fn text(answer: &Answer) -> String {
    let events = answer.events();
    let pieces = events.iter().filter_map(|event| event["choices"][0]["delta"]["content"].as_str());
    pieces.collect()
}

#[tokio::test]
async fn answer_has_the_form_of_a_completion() {
    let answer = ask(ScriptedChatModel::new([hello()]), body("Hi!")).await;
    assert_eq!(answer.status, StatusCode::OK);
    let completion = answer.json();
    assert_eq!(completion["object"], "chat.completion");
    assert_eq!(completion["model"], "assistant");
    assert_eq!(completion["choices"][0]["message"]["content"], "Hello, Ann.");
    assert_eq!(completion["choices"][0]["finish_reason"], "stop");
    assert_eq!(completion["usage"]["prompt_tokens"], 12);
    assert_eq!(completion["usage"]["total_tokens"], 16);
    assert_eq!(answer.header("x-conversation-id").len(), 32);
}

#[tokio::test]
async fn stream_ends_with_reason_usage_and_done() {
    let answer = ask(ScriptedChatModel::new([hello()]), streamed("Hi!")).await;
    assert_eq!(answer.header("content-type"), "text/event-stream");
    assert_eq!(text(&answer), "Hello, Ann.");
    let events = answer.events();
    assert_eq!(events[0]["choices"][0]["delta"]["role"], "assistant");
    let [.., reason, usage] = &*events else { panic!("{events:?}") };
    assert_eq!(reason["choices"][0]["finish_reason"], "stop");
    assert_eq!((&usage["choices"], &usage["usage"]["completion_tokens"]), (&json!([]), &json!(4)));
    assert!(answer.is_done());
}

#[tokio::test]
async fn tools_run_on_the_server_and_are_hidden() {
    let whole = ask(weather(), body("Weather?")).await.json();
    let message = &whole["choices"][0]["message"];
    assert_eq!(message["content"], "Let me look.\n\nBoth are sunny.");
    assert!(message.get("tool_calls").is_none());
    assert_eq!(whole["usage"]["total_tokens"], 41);

    let stream = ask(weather(), streamed("Weather?")).await;
    assert_eq!(text(&stream), "Let me look.\n\nBoth are sunny.");
    assert!(!String::from_utf8_lossy(&stream.body).contains("tool_calls"));
}

#[tokio::test]
async fn errors_have_a_status_and_no_details() {
    let failing = || {
        ScriptedChatModel::new([ScriptedAnswer::error(
            ErrorKind::Authentication,
            "key sk-1 of db.internal",
        )])
    };
    for body in [body("Hi!"), streamed("Hi!")] {
        let answer = ask(failing(), body).await;
        assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(answer.code(), "internal_error");
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        assert!(!text.contains("sk-1") && !text.contains("db.internal"), "{text}");
    }
}

#[tokio::test]
async fn stream_that_breaks_off_ends_with_an_error() {
    let broken = ScriptedAnswer::pieces(["Hel"]).then_error(ErrorKind::Connection, "reset");
    let answer = ask(ScriptedChatModel::new([broken]), streamed("Hi!")).await;
    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(text(&answer), "Hel");
    assert_eq!(answer.events().last().unwrap()["error"]["code"], "bad_answer");
    assert!(!answer.is_done());
}

#[tokio::test]
async fn suspended_turn_is_an_error() {
    for body in [body("Delete me."), streamed("Delete me.")] {
        let answer = ask(deletion(), body).await;
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        assert!(text.contains(r#""code":"suspended""#), "{text}");
    }
}

#[tokio::test]
async fn request_that_cannot_be_honoured_is_refused() {
    let cases = [
        (json!({ "tools": [{ "type": "function" }] }), "unsupported_parameter"),
        (json!({ "n": 2 }), "unsupported_parameter"),
        (json!({ "response_format": { "type": "json_object" } }), "unsupported_parameter"),
        (json!({ "model": "other" }), "model_not_found"),
        (json!({ "messages": [] }), "invalid_request"),
        (json!({ "messages": [{ "role": "user", "content": "" }] }), "invalid_request"),
        (json!({ "messages": [{ "role": "assistant", "content": "I am." }] }), "invalid_request"),
        (json!({ "messages": 5 }), "invalid_request"),
    ];
    for (change, code) in cases {
        let mut body = body("Hi!");
        for (key, value) in change.as_object().unwrap() {
            body[key] = value.clone();
        }
        let model = ScriptedChatModel::new([hello()]);
        let server = server(model.clone(), &InMemoryChatMemoryStore::new()).build().unwrap();
        let answer = send(&server, post(PATH, &body)).await;
        assert!(answer.status.is_client_error(), "{change}");
        assert_eq!(answer.code(), code, "{change}");
        assert!(model.requests().is_empty(), "{change}");
    }
}

#[tokio::test]
async fn images_are_data_and_never_addresses() {
    let image = |url: &str| {
        let parts = json!([
            { "type": "text", "text": "Describe it." },
            { "type": "image_url", "image_url": { "url": url } },
        ]);
        json!({ "model": "assistant", "messages": [{ "role": "user", "content": parts }] })
    };
    let model = ScriptedChatModel::new([hello()]);
    let server = server(model.clone(), &InMemoryChatMemoryStore::new()).build().unwrap();
    for url in [
        "http://169.254.169.254/",
        "file:///etc/passwd",
        "data:image/png,x",
        "data:text/html;base64,eA==",
    ] {
        let answer = send(&server, post(PATH, &image(url))).await;
        assert_eq!(answer.code(), "invalid_request", "{url}");
    }
    let answer = send(&server, post(PATH, &image("data:image/png;base64,iVBORw0KGgo="))).await;
    assert_eq!(answer.status, StatusCode::OK);
    let messages = model.messages_of(0);
    let Some(ChatMessage::User(user)) = messages.last() else { panic!("{messages:?}") };
    assert_eq!(user.contents().len(), 2);
    assert_eq!(user.contents()[1].media().unwrap().media_type(), Some("image/png"));
}

#[tokio::test]
async fn models_are_the_services() {
    let server =
        server(ScriptedChatModel::new([]), &InMemoryChatMemoryStore::new()).build().unwrap();
    let list = |token: &str| {
        let request = Request::get("/v1/models").header("authorization", format!("Bearer {token}"));
        request.body(axum::body::Body::empty()).unwrap()
    };
    let models = send(&server, list("ann")).await.json();
    assert_eq!(models["object"], "list");
    assert_eq!(models["data"][0]["id"], "assistant");
    assert_eq!(send(&server, list("nobody")).await.status, StatusCode::UNAUTHORIZED);
}
