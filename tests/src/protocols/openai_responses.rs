//! OpenAI's responses API.

use super::{CANARY, Client, Protocol, set_up};
use ai_services::Result;
use ai_services::fuzzing;
use ai_services::model::ChatModel;
use ai_services::providers::openai::OpenAiResponsesModel;
use serde_json::{Value, json};
use std::sync::Arc;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "openai-responses",
    client,
    whole,
    stream,
    stream_type: "text/event-stream",
    stream_error,
    error,
    read: |pieces| fuzzing::responses_events(pieces),
};

fn client(client: &Client<'_>) -> Result<Arc<dyn ChatModel>> {
    let builder = OpenAiResponsesModel::builder()
        .api_key(CANARY)
        .base_url(format!("{}/v1", client.server))
        .model("m");
    Ok(Arc::new(set_up!(builder, client).build()?))
}

fn whole() -> String {
    response("completed", &json!([thought(), message(), call()])).to_string()
}

fn response(status: &str, output: &Value) -> Value {
    json!({ "id": "resp_1", "object": "response", "model": "m-1", "status": status, "error": null,
        "output": output, "usage": usage() })
}

fn thought() -> Value {
    json!({ "id": "rs_1", "type": "reasoning", "encrypted_content": "c2VjcmV0",
        "summary": [{ "type": "summary_text", "text": "hm" }] })
}

fn message() -> Value {
    let text = json!({ "type": "output_text", "annotations": [], "text": super::TEXT });
    json!({ "id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
        "content": [text] })
}

fn call() -> Value {
    call_with(r#"{"city":"Oslo"}"#)
}

fn call_with(arguments: &str) -> Value {
    json!({ "id": "fc_1", "type": "function_call", "status": "completed", "call_id": "call-1",
        "name": "weather", "arguments": arguments })
}

fn stream() -> String {
    let (begin, end) = super::TEXT.split_at(6);
    let item = |kind: &str, index: u8, item: Value| json!({ "type": format!("response.output_item.{kind}"), "output_index": index, "item": item });
    let delta = |kind: &str, index: u8, delta: &str| json!({ "type": format!("response.{kind}.delta"), "output_index": index, "delta": delta });
    let events = [
        json!({ "type": "response.created",
            "response": { "id": "resp_1", "model": "m-1", "status": "in_progress", "output": [] } }),
        delta("reasoning_summary_text", 0, "hm"),
        item("done", 0, thought()),
        delta("output_text", 1, begin),
        delta("output_text", 1, end),
        item("done", 1, message()),
        item("added", 2, call_with("")),
        delta("function_call_arguments", 2, "{\"city\":"),
        delta("function_call_arguments", 2, "\"Oslo\"}"),
        item("done", 2, call()),
        json!({ "type": "response.completed",
            "response": response("completed", &json!([thought(), message(), call()])) }),
    ];
    events.iter().map(event).collect()
}

fn event(event: &Value) -> String {
    format!(
        "event: {}\ndata: {event}\n\n",
        event.get("type").and_then(Value::as_str).unwrap_or_default()
    )
}

fn usage() -> Value {
    json!({ "input_tokens": 7, "output_tokens": 5, "total_tokens": 12 })
}

fn stream_error() -> String {
    event(&json!({ "type": "error", "code": "server_error", "message": "broken", "param": null }))
}

fn error(message: &str) -> String {
    json!({ "error": { "message": message, "type": "server_error", "code": null } }).to_string()
}
