//! Clients of Ollama's native protocol.

mod dialects;
mod embeddings;
mod failures;
mod requests;
mod responses;
mod server;
mod service;
mod stream_equals_whole;

pub(crate) use dialects::DIALECTS;

use ai_services::message::ChatMessage;
use ai_services::model::{ChatModel, ChatRequest, ChatResponse};
use ai_services::providers::ollama::{OllamaChatModel, OllamaChatModelBuilder};
use ai_services_tests::PATIENCE;
use ai_services_tests::fault_server::{FaultServer, json_answer};
use serde_json::{Value, json};
use std::time::Duration;

/// A client of `server` with a back-off of one millisecond.
fn client(server: &FaultServer) -> OllamaChatModelBuilder {
    OllamaChatModel::builder()
        .base_url(server.origin())
        .model("m")
        .retry_delay(Duration::from_millis(1))
        .timeout(PATIENCE)
}

fn hello() -> ChatRequest {
    ChatRequest::new([ChatMessage::user("Hello!")])
}

/// A whole answer with this message.
fn reply(message: Value) -> Value {
    let mut reply = json!({ "model": "m", "created_at": "2025-11-01T12:00:00Z", "done": true,
        "done_reason": "stop", "prompt_eval_count": 7, "eval_count": 5 });
    reply["message"] = message;
    reply
}

fn hi() -> Vec<u8> {
    json_answer(&reply(json!({ "role": "assistant", "content": "Hi." })))
}

/// Returns the response of the client to this answer.
async fn read(body: &Value) -> ai_services::Result<ChatResponse> {
    let server = FaultServer::answering([json_answer(body)]).await.unwrap();
    client(&server).max_retries(0).build()?.chat(&hello()).await
}

/// Returns the golden request with this name.
fn golden(name: &str) -> Value {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/protocols/ollama/golden");
    let text = std::fs::read_to_string(format!("{folder}/{name}.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}
