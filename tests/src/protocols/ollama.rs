//! Ollama's own protocol.

use super::{CANARY, Client, Protocol, set_up};
use ai_services::Result;
use ai_services::fuzzing;
use ai_services::model::ChatModel;
use ai_services::providers::ollama::OllamaChatModel;
use serde_json::{Value, json};
use std::sync::Arc;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "ollama",
    client,
    whole,
    stream,
    stream_type: "application/x-ndjson",
    stream_error,
    error,
    read: |pieces| fuzzing::ollama_events(pieces),
};

fn client(client: &Client<'_>) -> Result<Arc<dyn ChatModel>> {
    let builder = OllamaChatModel::builder().api_key(CANARY).base_url(client.server).model("m");
    Ok(Arc::new(set_up!(builder, client).build()?))
}

fn whole() -> String {
    let mut whole = end();
    whole["message"] = json!({ "role": "assistant", "content": super::TEXT, "thinking": "hm",
        "tool_calls": [call()] });
    whole.to_string()
}

fn stream() -> String {
    let (begin, end) = super::TEXT.split_at(6);
    let pieces = [
        json!({ "role": "assistant", "content": "", "thinking": "hm" }),
        json!({ "role": "assistant", "content": begin }),
        json!({ "role": "assistant", "content": end }),
        json!({ "role": "assistant", "content": "", "tool_calls": [call()] }),
    ];
    let lines = pieces.into_iter().map(|message| {
        json!({ "model": "m-1", "created_at": "2025-11-01T12:00:00Z", "message": message,
            "done": false })
    });
    lines.chain([self::end()]).map(|line| format!("{line}\n")).collect()
}

fn call() -> Value {
    json!({ "id": "call-1",
        "function": { "index": 0, "name": "weather", "arguments": { "city": "Oslo" } } })
}

fn end() -> Value {
    json!({ "model": "m-1", "created_at": "2025-11-01T12:00:01Z",
        "message": { "role": "assistant", "content": "" }, "done": true, "done_reason": "stop",
        "total_duration": 5, "load_duration": 1, "prompt_eval_count": 7, "eval_count": 5 })
}

fn stream_error() -> String {
    error("broken") + "\n"
}

fn error(message: &str) -> String {
    json!({ "error": message }).to_string()
}
