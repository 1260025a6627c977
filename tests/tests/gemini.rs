//! The client of Gemini's own protocol.

#![cfg(feature = "gemini")]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a panic is how a test fails"
)]
#![allow(clippy::needless_pass_by_value, reason = "values are written where they are passed")]

#[path = "gemini/embeddings.rs"]
mod embeddings;
#[path = "gemini/faults.rs"]
mod faults;
#[path = "gemini/goldens.rs"]
mod goldens;
#[path = "gemini/requests.rs"]
mod requests;
#[path = "gemini/responses.rs"]
mod responses;
#[path = "gemini/service.rs"]
mod service;
#[path = "gemini/stream_cuts.rs"]
mod stream_cuts;
#[path = "gemini/stream_equals_whole.rs"]
mod stream_equals_whole;

use ai_services::message::ChatMessage;
use ai_services::model::{ChatModel, ChatRequest, ChatResponse};
use ai_services::providers::gemini::{GeminiChatModel, GeminiChatModelBuilder};
use ai_services_tests::PATIENCE;
use ai_services_tests::fault_server::{FaultServer, json_answer};
use serde_json::{Value, json};
use std::time::Duration;

/// The key of every client here. It must not appear in anything that is printed.
const CANARY: &str = "AIza-canary-7f3a9c";

/// A client of `server` that hardly waits between attempts.
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

/// What the client makes of this answer.
async fn read(answer: Vec<u8>) -> ai_services::Result<ChatResponse> {
    let server = FaultServer::answering([answer]).await.unwrap();
    client(&server).max_retries(0).build()?.chat(&hello()).await
}
