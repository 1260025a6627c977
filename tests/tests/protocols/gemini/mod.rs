//! Client of Gemini's native protocol.

mod dialects;
mod embeddings;
mod faults;
mod goldens;
mod requests;
mod responses;
mod service;
mod stream_equals_whole;

pub(crate) use dialects::DIALECTS;

use ai_services::message::ChatMessage;
use ai_services::model::{ChatModel, ChatRequest, ChatResponse};
use ai_services::providers::gemini::{GeminiChatModel, GeminiChatModelBuilder};
use ai_services_tests::PATIENCE;
use ai_services_tests::fault_server::{FaultServer, json_answer};
use serde_json::{Value, json};
use std::time::Duration;

/// The key of every client here. It must not appear in anything that is printed.
const CANARY: &str = "AIza-canary-7f3a9c";

/// A client of `server` with a back-off of one millisecond.
fn client(server: &FaultServer) -> GeminiChatModelBuilder {
    GeminiChatModel::builder()
        .api_key(CANARY)
        .base_url(format!("{}/v1beta", server.origin()))
        .model("gemini-2.5-flash")
        .retry_delay(Duration::from_millis(1))
        .timeout(PATIENCE)
}

fn hello() -> ChatRequest {
    ChatRequest::new([ChatMessage::user("Hello!")])
}

/// An answer of these parts.
fn answer_of(parts: Value, reason: &str) -> Value {
    json!({
        "candidates": [{ "content": { "parts": parts, "role": "model" }, "finishReason": reason, "index": 0 }],
        "usageMetadata": { "promptTokenCount": 7, "candidatesTokenCount": 3, "thoughtsTokenCount": 2,
            "totalTokenCount": 12 },
        "modelVersion": "gemini-2.5-flash", "responseId": "r-1",
    })
}

fn hi() -> Vec<u8> {
    json_answer(&answer_of(json!([{ "text": "Hi." }]), "STOP"))
}

/// Returns the response of the client to this answer.
async fn read(answer: Vec<u8>) -> ai_services::Result<ChatResponse> {
    let server = FaultServer::answering([answer]).await.unwrap();
    client(&server).max_retries(0).build()?.chat(&hello()).await
}
