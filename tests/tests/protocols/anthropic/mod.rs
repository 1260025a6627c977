//! Client of Anthropic's messages API.

mod answers;
mod conversations;
mod deferred_tools;
mod dialects;
mod errors;
mod parameters;
mod services;
mod stream_equals_whole;
mod streams;

pub(crate) use dialects::DIALECTS;

use ai_services::message::ChatMessage;
use ai_services::model::{ChatModel, ChatRequest, ChatResponse};
use ai_services::providers::anthropic::{AnthropicChatModel, AnthropicChatModelBuilder};
use ai_services_tests::fault_server::{FaultServer, Recorded, json_answer};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

/// The key of every client here. It must not appear in anything that is printed.
const CANARY: &str = "sk-canary-7f3a9c";

/// A client of `server` with a back-off of one millisecond.
fn client(server: &FaultServer) -> AnthropicChatModelBuilder {
    AnthropicChatModel::builder()
        .api_key(CANARY)
        .base_url(server.origin())
        .model("m")
        .retry_delay(Duration::from_millis(1))
}

/// An answer that consists of these blocks.
fn answer(blocks: &Value, stop_reason: &str) -> Value {
    json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m-1", "content": blocks,
        "stop_reason": stop_reason, "stop_sequence": null,
        "usage": { "input_tokens": 3, "output_tokens": 2 },
    })
}

fn hi() -> Vec<u8> {
    json_answer(&answer(&json!([{ "type": "text", "text": "Hi." }]), "end_turn"))
}

fn hello() -> ChatRequest {
    ChatRequest::new([ChatMessage::user("Hello!")])
}

/// Returns the response of a client to this document.
async fn read(document: &Value) -> ai_services::Result<ChatResponse> {
    let server = FaultServer::answering([json_answer(document)]).await.unwrap();
    client(&server).build().unwrap().chat(&hello()).await
}

/// Returns the request of a client.
async fn sent(
    request: &ChatRequest,
    configure: impl FnOnce(AnthropicChatModelBuilder) -> AnthropicChatModelBuilder,
) -> Recorded {
    let server = FaultServer::answering([hi()]).await.unwrap();
    configure(client(&server)).build().unwrap().chat(request).await.unwrap();
    server.requests().remove(0)
}

/// Compares the request of a client with `golden/{name}.json`.
async fn check(
    name: &str,
    request: &ChatRequest,
    configure: impl FnOnce(AnthropicChatModelBuilder) -> AnthropicChatModelBuilder,
) {
    let body = sent(request, configure).await.json();
    assert_eq!(body, golden(name), "{name}: {body:#}");
}

fn golden(name: &str) -> Value {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/protocols/anthropic/golden");
    let text = std::fs::read_to_string(folder.join(format!("{name}.json")));
    serde_json::from_str(&text.unwrap_or_default()).unwrap_or_default()
}
