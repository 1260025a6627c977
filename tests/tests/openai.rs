//! The clients of OpenAI's chat completions, embeddings and moderation against a server that fails in every way.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a panic is how a test fails")]

#[path = "openai/details.rs"]
mod details;
#[path = "openai/embeddings.rs"]
mod embeddings;
#[path = "openai/faults.rs"]
mod faults;
#[path = "openai/moderation.rs"]
mod moderation;
#[path = "openai/requests.rs"]
mod requests;
#[path = "openai/responses.rs"]
mod responses;
#[path = "openai/secrets.rs"]
mod secrets;
#[path = "openai/service_streams.rs"]
mod service_streams;
#[path = "openai/stream_calls.rs"]
mod stream_calls;
#[path = "openai/stream_cuts.rs"]
mod stream_cuts;
#[path = "openai/stream_equals_whole.rs"]
mod stream_equals_whole;
#[path = "openai/streams.rs"]
mod streams;
#[path = "openai/thinking.rs"]
mod thinking;

use ai_services::message::ChatMessage;
use ai_services::model::{ChatModel, ChatRequest, ChatResponse};
use ai_services::providers::openai::{OpenAiChatModel, OpenAiChatModelBuilder};
use ai_services_tests::PATIENCE;
use ai_services_tests::fault_server::{FaultServer, json_answer};
use serde_json::{Value, json};
use std::time::Duration;

/// The key of every client here. It must not appear in anything that is printed.
const CANARY: &str = "sk-canary-7f3a9c";

/// A client of `server` that hardly waits between attempts.
fn client(server: &FaultServer) -> OpenAiChatModelBuilder {
    OpenAiChatModel::builder()
        .api_key(CANARY)
        .base_url(server.url())
        .model("m")
        .retry_delay(Duration::from_millis(1))
        .timeout(PATIENCE)
}

fn hello() -> ChatRequest {
    ChatRequest::new([ChatMessage::user("Hello!")])
}

/// A completion with this message.
fn completion(message: Value) -> Value {
    let choice = Value::from_iter([("message", message)]);
    json!({ "id": "c-1", "model": "m-1", "choices": [choice] })
}

fn hi() -> Vec<u8> {
    json_answer(&completion(json!({ "content": "Hi." })))
}

/// What the client makes of this answer.
async fn read(answer: Vec<u8>) -> ai_services::Result<ChatResponse> {
    let server = FaultServer::answering([answer]).await.unwrap();
    client(&server).max_retries(0).build()?.chat(&hello()).await
}
