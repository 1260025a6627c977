//! Anthropic's messages.

use super::{CANARY, Client, Protocol, set_up};
use ai_services::Result;
use ai_services::fuzzing;
use ai_services::model::ChatModel;
use ai_services::providers::anthropic::AnthropicChatModel;
use serde_json::{Value, json};
use std::sync::Arc;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "anthropic",
    client,
    whole,
    stream,
    stream_type: "text/event-stream",
    stream_error,
    error,
    read: |pieces| fuzzing::anthropic_events(pieces),
};

fn client(client: &Client<'_>) -> Result<Arc<dyn ChatModel>> {
    let builder = AnthropicChatModel::builder().api_key(CANARY).base_url(client.server).model("m");
    Ok(Arc::new(set_up!(builder, client).build()?))
}

fn whole() -> String {
    json!({
        "id": "msg-1", "type": "message", "role": "assistant", "model": "m-1",
        "content": [
            { "type": "thinking", "thinking": "hm", "signature": "c2ln" },
            { "type": "text", "text": super::TEXT },
            { "type": "tool_use", "id": "call-1", "name": "weather", "input": { "city": "Oslo" } },
        ],
        "stop_reason": "tool_use", "stop_sequence": null,
        "usage": { "input_tokens": 7, "output_tokens": 5 },
    })
    .to_string()
}

fn stream() -> String {
    let (begin, end) = super::TEXT.split_at(6);
    let start = |index: u8, block: Value| json!({ "type": "content_block_start", "index": index, "content_block": block });
    let delta = |index: u8, delta: Value| json!({ "type": "content_block_delta", "index": index, "delta": delta });
    let stop = |index: u8| json!({ "type": "content_block_stop", "index": index });
    let text = |text: &str| delta(1, json!({ "type": "text_delta", "text": text }));
    let input = |json: &str| delta(2, json!({ "type": "input_json_delta", "partial_json": json }));
    let events = [
        json!({ "type": "message_start", "message": {
            "id": "msg-1", "type": "message", "role": "assistant", "model": "m-1", "content": [],
            "stop_reason": null, "usage": { "input_tokens": 7, "output_tokens": 1 } } }),
        start(0, json!({ "type": "thinking", "thinking": "", "signature": "" })),
        json!({ "type": "ping" }),
        delta(0, json!({ "type": "thinking_delta", "thinking": "hm" })),
        delta(0, json!({ "type": "signature_delta", "signature": "c2ln" })),
        stop(0),
        start(1, json!({ "type": "text", "text": "" })),
        text(begin),
        text(end),
        stop(1),
        start(2, json!({ "type": "tool_use", "id": "call-1", "name": "weather", "input": {} })),
        input(""),
        input("{\"city\":"),
        input("\"Oslo\"}"),
        stop(2),
        json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" },
            "usage": { "output_tokens": 5 } }),
        json!({ "type": "message_stop" }),
    ];
    events.iter().map(event).collect()
}

fn event(event: &Value) -> String {
    format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default())
}

fn stream_error() -> String {
    format!("event: error\ndata: {}\n\n", error("broken"))
}

fn error(message: &str) -> String {
    json!({ "type": "error", "error": { "type": "api_error", "message": message } }).to_string()
}
