//! Gemini's own protocol.

use super::{CANARY, Client, Protocol, set_up};
use ai_services::Result;
use ai_services::fuzzing;
use ai_services::model::ChatModel;
use ai_services::providers::gemini::GeminiChatModel;
use serde_json::{Value, json};
use std::sync::Arc;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "gemini",
    client,
    whole,
    stream,
    stream_type: "text/event-stream",
    stream_error,
    error,
    read: |pieces| fuzzing::gemini_events(pieces),
};

fn client(client: &Client<'_>) -> Result<Arc<dyn ChatModel>> {
    let builder = GeminiChatModel::builder()
        .api_key(CANARY)
        .base_url(format!("{}/v1beta", client.server))
        .model("gemini-2.5-flash");
    Ok(Arc::new(set_up!(builder, client).build()?))
}

fn document(parts: &Value, reason: Option<&str>) -> Value {
    json!({
        "candidates": [{ "content": { "role": "model", "parts": parts }, "finishReason": reason, "index": 0 }],
        "usageMetadata": { "promptTokenCount": 7, "candidatesTokenCount": 4, "thoughtsTokenCount": 1,
            "totalTokenCount": 12 },
        "modelVersion": "m-1", "responseId": "c-1",
    })
}

fn thought() -> Value {
    json!({ "text": "hm", "thought": true })
}

fn call() -> Value {
    json!({ "functionCall": { "id": "call-1", "name": "weather", "args": { "city": "Oslo" } },
        "thoughtSignature": "c2ln" })
}

fn whole() -> String {
    document(&json!([thought(), { "text": super::TEXT }, call()]), Some("STOP")).to_string()
}

fn stream() -> String {
    let (begin, end) = super::TEXT.split_at(6);
    let events = [
        document(&json!([thought()]), None),
        document(&json!([{ "text": begin }]), None),
        document(&json!([{ "text": end }]), None),
        document(&json!([call()]), None),
        document(&json!([{ "text": "" }]), Some("STOP")),
    ];
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

fn stream_error() -> String {
    format!("data: {}\n\n", error("broken"))
}

fn error(message: &str) -> String {
    // The API also has the status as a number; without it, the text decides.
    json!({ "error": { "message": message, "status": "INTERNAL" } }).to_string()
}
