//! Errors with hints.

use super::{client, hello};
use ai_services::ErrorKind;
use ai_services::model::{ChatModel, ChatRequest, ChatRequestParameters};
use ai_services::providers::ollama::{OllamaChatModel, OllamaServer};
use ai_services_tests::fault_server::Step::{Hang, Request, Send};
use ai_services_tests::fault_server::{FaultServer, Step, answer, json_answer};
use futures_util::StreamExt;
use serde_json::json;
use std::time::{Duration, Instant};
use tokio::net::TcpSocket;

fn missing() -> Vec<u8> {
    answer(404, &[], json!({ "error": "model 'm' not found" }).to_string())
}

fn tags(names: &[&str]) -> Vec<u8> {
    let models: Vec<_> = names.iter().map(|name| json!({ "name": name })).collect();
    json_answer(&json!({ "models": models }))
}

/// Returns the errors of a missing model, without and with streaming.
async fn errors(listing: Vec<Step>) -> [ai_services::Error; 2] {
    let script = [vec![Request, Send(missing())], listing].concat();
    let server = FaultServer::start([script.clone()]).await.unwrap();
    let model = client(&server).max_retries(0).build().unwrap();
    let whole = model.chat(&hello()).await.unwrap_err();

    let server = FaultServer::start([script]).await.unwrap();
    let (model, request) = (client(&server).max_retries(0).build().unwrap(), hello());
    let mut events: Vec<_> = model.stream(&request).collect().await;
    assert_eq!(events.len(), 1);
    [whole, events.remove(0).unwrap_err()]
}

#[tokio::test]
async fn missing_model_error_has_a_hint_and_the_available_models() {
    let listing = vec![Request, Send(tags(&["llama3.2:latest", "qwen3:4b"])), Hang];
    for error in errors(listing).await {
        assert_eq!((error.kind(), error.status()), (ErrorKind::InvalidRequest, Some(404)));
        let text = error.to_string();
        assert!(text.contains("model 'm' not found"), "{text}");
        assert!(text.contains("`ollama pull m`"), "{text}");
        assert!(text.ends_with("there are `llama3.2:latest`, `qwen3:4b`"), "{text}");
        assert_eq!(error.attempts(), Some(1));
    }
}

#[tokio::test]
async fn long_lists_of_models_are_truncated() {
    let names: Vec<_> = (0..12).map(|number| format!("m{number}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    for error in errors(vec![Request, Send(tags(&names)), Hang]).await {
        assert!(error.to_string().ends_with("`m9` and 2 more"), "{error}");
    }
    for error in errors(vec![Request, Send(tags(&[])), Hang]).await {
        assert!(error.to_string().ends_with("there are no models yet"), "{error}");
    }
}

#[tokio::test]
async fn failed_listing_does_not_hide_the_error() {
    for listing in [vec![], vec![Request, Send(answer(500, &[], "")), Hang]] {
        for error in errors(listing).await {
            let text = error.to_string();
            assert_eq!((error.kind(), error.status()), (ErrorKind::InvalidRequest, Some(404)));
            assert!(text.ends_with("`ollama pull m` fetches the model `m`"), "{text}");
        }
    }
}

#[tokio::test]
async fn hanging_listing_times_out() {
    let begin = Instant::now();
    let server = FaultServer::start([vec![Request, Send(missing())], vec![Request, Hang]]).await;
    let error = client(&server.unwrap()).build().unwrap().chat(&hello()).await.unwrap_err();
    assert!(begin.elapsed() < Duration::from_secs(8));
    assert!(error.to_string().contains("`ollama pull m`"), "{error}");
}

#[tokio::test]
async fn hint_names_the_model_of_the_request() {
    let server = FaultServer::answering([missing(), tags(&[])]).await.unwrap();
    let request = ChatRequest::builder()
        .messages(hello().messages().cloned())
        .parameters(ChatRequestParameters::new().model("other:1b"))
        .build();
    let error = client(&server).build().unwrap().chat(&request).await.unwrap_err();
    assert!(error.to_string().contains("`ollama pull other:1b`"), "{error}");
    let head = server.requests().remove(1).head;
    assert!(head.starts_with("GET /api/tags HTTP/1.1\r\n"), "{head}");
}

#[tokio::test]
async fn missing_path_is_not_a_missing_model() {
    let server = FaultServer::answering([answer(404, &[], "404 page not found")]).await.unwrap();
    let error = client(&server).build().unwrap().chat(&hello()).await.unwrap_err();
    assert!(!error.to_string().contains("ollama pull"), "{error}");
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn stopped_server_error_has_a_hint() {
    // A port that is bound but does not listen.
    let taken = TcpSocket::new_v4().unwrap();
    taken.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let origin = format!("http://{}", taken.local_addr().unwrap());
    let model = OllamaChatModel::builder().base_url(&origin).model("m").max_retries(0);
    let (model, request) = (model.build().unwrap(), hello());
    let listing = OllamaServer::builder().base_url(&origin).max_retries(0).build().unwrap();
    let streamed = model.stream(&request).next().await.unwrap().unwrap_err();
    for error in [
        model.chat(&request).await.unwrap_err(),
        streamed,
        listing.models().await.unwrap_err(),
        listing.model("m").await.unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Connection);
        let text = error.to_string();
        assert!(text.starts_with("the server cannot be reached"), "{text}");
        for word in [origin.as_str(), "`ollama serve`", "OLLAMA_HOST"] {
            assert!(text.contains(word), "{text}");
        }
    }
}

#[tokio::test]
async fn errors_of_the_server_are_quoted() {
    let text = "registry.ollama.ai/library/m:latest does not support tools";
    let refusal = answer(400, &[], json!({ "error": text }).to_string());
    let server = FaultServer::answering([refusal]).await.unwrap();
    let error = client(&server).build().unwrap().chat(&hello()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRequest);
    assert!(error.to_string().ends_with(text), "{error}");
}
