//! Client of OpenAI's responses API.

mod answers;
mod deferred_tools;
mod dialects;
mod requests;
mod service;
mod stream_equals_whole;
mod streams;

pub(crate) use dialects::DIALECTS;

use ai_services::message::ChatMessage;
use ai_services::model::{ChatModel, ChatRequest, ChatResponse};
use ai_services::providers::openai::{OpenAiResponsesModel, OpenAiResponsesModelBuilder};
use ai_services_tests::PATIENCE;
use ai_services_tests::fault_server::{FaultServer, json_answer};
use serde_json::{Value, json};

/// The key of every client here. It must not appear in anything that is printed.
const CANARY: &str = "sk-canary-7f3a9c";

/// A client of `server` that never retries.
fn client(server: &FaultServer) -> OpenAiResponsesModelBuilder {
    OpenAiResponsesModel::builder()
        .api_key(CANARY)
        .base_url(server.url())
        .model("gpt-5-mini")
        .max_retries(0)
        .timeout(PATIENCE)
}

fn hello() -> ChatRequest {
    ChatRequest::new([ChatMessage::user("Hello!")])
}

/// An answer of these items.
fn response(output: &Value) -> Value {
    json!({ "id": "r-1", "object": "response", "model": "m-1", "status": "completed", "error": null,
        "output": output })
}

/// A message item of one text.
fn said(text: &str) -> Value {
    json!({ "id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
        "content": [{ "type": "output_text", "annotations": [], "text": text }] })
}

/// A reasoning item with a summary.
fn thought(text: &str) -> Value {
    json!({ "id": "rs_1", "type": "reasoning", "encrypted_content": "Z0FB",
        "summary": [{ "type": "summary_text", "text": text }] })
}

/// A call of a tool.
fn call(id: &str, name: &str, arguments: &str) -> Value {
    json!({ "id": format!("fc_{id}"), "type": "function_call", "status": "completed",
        "call_id": id, "name": name, "arguments": arguments })
}

fn hi() -> Vec<u8> {
    json_answer(&response(&json!([said("Hi.")])))
}

/// Returns the response of the client to this answer.
async fn read(answer: Vec<u8>) -> ai_services::Result<ChatResponse> {
    let server = FaultServer::answering([answer]).await.unwrap();
    client(&server).build()?.chat(&hello()).await
}
