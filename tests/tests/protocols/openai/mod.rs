//! Clients of OpenAI's chat completions, embeddings and moderation.

mod answers;
mod details;
mod dialects;
mod embeddings;
mod faults;
mod moderation;
mod requests;
mod secrets;
mod service_streams;
mod stream_calls;
mod stream_equals_whole;
mod streams;
mod thinking;

pub(crate) use dialects::DIALECTS;

use ai_services::message::ChatMessage;
use ai_services::model::{ChatModel, ChatRequest, ChatResponse};
use ai_services::providers::openai::{OpenAiChatModel, OpenAiChatModelBuilder};
use ai_services_tests::PATIENCE;
use ai_services_tests::fault_server::{FaultServer, json_answer};
use serde_json::{Value, json};
use std::time::Duration;

/// The key of every client here. It must not appear in anything that is printed.
const CANARY: &str = "sk-canary-7f3a9c";

/// A client of `server` with a back-off of one millisecond.
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

/// Returns the response of the client to this answer.
async fn read(answer: Vec<u8>) -> ai_services::Result<ChatResponse> {
    let server = FaultServer::answering([answer]).await.unwrap();
    client(&server).max_retries(0).build()?.chat(&hello()).await
}
