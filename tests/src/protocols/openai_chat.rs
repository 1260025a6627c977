//! OpenAI's chat completions.

use super::{CANARY, Client, Protocol, set_up};
use ai_services::Result;
use ai_services::fuzzing;
use ai_services::model::ChatModel;
use ai_services::providers::openai::OpenAiChatModel;
use serde_json::json;
use std::sync::Arc;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "openai-chat",
    client,
    whole,
    stream,
    stream_type: "text/event-stream",
    stream_error,
    error,
    read: |pieces| fuzzing::chat_events(pieces),
};

fn client(client: &Client<'_>) -> Result<Arc<dyn ChatModel>> {
    let builder = OpenAiChatModel::builder()
        .api_key(CANARY)
        .base_url(format!("{}/v1", client.server))
        .model("m");
    Ok(Arc::new(set_up!(builder, client).build()?))
}

fn whole() -> String {
    let call = json!({ "id": "call-1", "type": "function",
        "function": { "name": "weather", "arguments": r#"{"city":"Oslo"}"# } });
    let message = json!({ "role": "assistant", "content": super::TEXT, "tool_calls": [call],
        "reasoning_content": "hm" });
    json!({ "id": "c-1", "model": "m-1", "usage": usage(),
        "choices": [{ "index": 0, "message": message, "finish_reason": "tool_calls" }] })
    .to_string()
}

fn stream() -> String {
    let delta = |delta: serde_json::Value| json!({ "choices": [{ "index": 0, "delta": delta }] });
    let (begin, end) = super::TEXT.split_at(6);
    let call = |call: serde_json::Value| delta(json!({ "tool_calls": [call] }));
    let events = [
        json!({ "id": "c-1", "model": "m-1",
            "choices": [{ "index": 0, "delta": { "role": "assistant", "content": "" } }] }),
        delta(json!({ "reasoning_content": "hm" })),
        delta(json!({ "content": begin })),
        delta(json!({ "content": end })),
        call(
            json!({ "index": 0, "id": "call-1", "function": { "name": "weather", "arguments": "" } }),
        ),
        call(json!({ "index": 0, "function": { "arguments": "{\"city\":" } })),
        call(json!({ "index": 0, "function": { "arguments": "\"Oslo\"}" } })),
        json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }] }),
        json!({ "choices": [], "usage": usage() }),
    ];
    let events: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    events + "data: [DONE]\n\n"
}

fn usage() -> serde_json::Value {
    json!({ "prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12 })
}

fn stream_error() -> String {
    format!("data: {}\n\n", error("broken"))
}

fn error(message: &str) -> String {
    json!({ "error": { "message": message, "type": "server_error", "code": null } }).to_string()
}
