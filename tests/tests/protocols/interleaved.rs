//! Streams whose blocks are interleaved, repeated or never ended: the pieces add up to the answer.

use ai_services::fuzzing::{Summary, summary};
use ai_services_tests::protocols::all;
use proptest::prelude::*;
use serde_json::{Value, json};

/// A random event. Each protocol gives it its own form.
#[derive(Clone, Debug)]
struct Step {
    action: usize,
    /// Number of a block or call. Equal numbers are frequent.
    index: usize,
    text: String,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (0..12_usize, 0..3_usize, "[a-zé ]{0,3}");
    let step = step.prop_map(|(action, index, text)| Step { action, index, text });
    prop::collection::vec(step, 0..24)
}

/// The events of a protocol for these steps. The last events end the answer.
fn events(protocol: &str, steps: &[Step]) -> Vec<Value> {
    let (event, end): (fn(&Step) -> Value, _) = match protocol {
        "anthropic" => (
            anthropic,
            vec![
                json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" },
                    "usage": { "output_tokens": 1 } }),
                json!({ "type": "message_stop" }),
            ],
        ),
        "openai-responses" => {
            let item = |step: &Step| responses(step).get("item").cloned();
            let items: Vec<_> = steps.iter().filter_map(item).collect();
            let end = json!({ "status": "completed", "output": items });
            (responses, vec![json!({ "type": "response.completed", "response": end })])
        }
        "openai-chat" => (
            chat,
            vec![json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }],
                "usage": { "total_tokens": 1 } })],
        ),
        "gemini" => (gemini, vec![json!({ "candidates": [{ "finishReason": "STOP" }] })]),
        "ollama" => (ollama, vec![json!({ "done": true, "done_reason": "stop" })]),
        other => panic!("no events for {other}"),
    };
    steps.iter().map(event).chain(end).collect()
}

fn anthropic(Step { action, index, text }: &Step) -> Value {
    let start =
        |block| json!({ "type": "content_block_start", "index": index, "content_block": block });
    let delta = |delta| json!({ "type": "content_block_delta", "index": index, "delta": delta });
    match action {
        0 | 1 => start(json!({ "type": "text", "text": text })),
        2 | 3 => start(json!({ "type": "thinking", "thinking": text })),
        4 => start(json!({ "type": "tool_use", "id": text, "name": text, "input": {} })),
        5 => start(json!({ "type": "redacted_thinking", "data": text })),
        6 | 7 => delta(json!({ "text": text })),
        8 => delta(json!({ "thinking": text })),
        9 => delta(json!({ "partial_json": text })),
        _ => json!({ "type": "content_block_stop", "index": index }),
    }
}

fn responses(Step { action, index, text }: &Step) -> Value {
    let piece = |kind: &str, number: &str| json!({ "type": kind, "delta": text, "output_index": index, number: index % 2 });
    let call = json!({ "type": "function_call", "call_id": text, "name": text, "arguments": text });
    match action {
        0..=2 => piece("response.output_text.delta", "content_index"),
        3 => piece("response.reasoning_summary_text.delta", "summary_index"),
        4 => piece("response.reasoning_text.delta", "content_index"),
        5 => piece("response.function_call_arguments.delta", "content_index"),
        6 => {
            json!({ "type": "response.function_call_arguments.done", "arguments": text, "output_index": index })
        }
        7 => json!({ "type": "response.output_item.added", "item": call, "output_index": index }),
        8 => json!({ "type": "response.output_item.done", "item": call, "output_index": index }),
        9 => {
            let thought = json!({ "type": "reasoning", "summary": [{ "text": text }] });
            json!({ "type": "response.output_item.done", "item": thought, "output_index": index })
        }
        _ => {
            let message =
                json!({ "type": "message", "content": [{ "type": "output_text", "text": text }] });
            json!({ "type": "response.output_item.done", "item": message, "output_index": index })
        }
    }
}

fn chat(Step { action, index, text }: &Step) -> Value {
    let delta = |index, delta| json!({ "choices": [{ "index": index, "delta": delta }] });
    match action {
        0..=2 => delta(index % 2, json!({ "content": text })),
        3 => delta(0, json!({ "reasoning_content": text })),
        4 => delta(0, json!({ "reasoning": text })),
        5 => json!({ "choices": [{ "message": { "content": text } }] }),
        6 => json!({ "choices": [{ "delta": { "content": text }, "finish_reason": "stop" }] }),
        7 => delta(0, json!({ "reasoning_details": [{ "index": index, "text": text }] })),
        8 | 9 => delta(
            0,
            json!({ "tool_calls": [{ "index": index, "id": text, "function": { "name": text } }] }),
        ),
        _ => delta(
            0,
            json!({ "tool_calls": [{ "index": index, "function": { "arguments": text } }] }),
        ),
    }
}

fn gemini(Step { action, index, text }: &Step) -> Value {
    let part = match action {
        0..=3 => json!({ "text": text }),
        4..=6 => json!({ "text": text, "thought": true }),
        7 => json!({ "text": text, "thoughtSignature": "c2ln" }),
        8 => json!({ "inlineData": { "mimeType": "image/png", "data": "AAAA" } }),
        _ => json!({ "functionCall": { "id": text, "name": text, "args": {} } }),
    };
    json!({ "candidates": [{ "index": index / 2, "content": { "parts": [part] } }] })
}

fn ollama(Step { action, text, .. }: &Step) -> Value {
    let message = match action {
        0..=3 => json!({ "content": text }),
        4..=6 => json!({ "thinking": text }),
        _ => {
            json!({ "content": text, "tool_calls": [{ "function": { "name": text, "arguments": {} } }] })
        }
    };
    json!({ "message": message })
}

/// Reads the events. Fails if the pieces do not add up to the answer or the error.
fn read(protocol: &str, events: &[Value]) -> Summary {
    let all = all();
    let protocol = all.iter().find(|own| own.name == protocol).unwrap();
    let is_sse = protocol.stream_type == "text/event-stream";
    let line =
        |event: &Value| if is_sse { format!("data: {event}\n\n") } else { format!("{event}\n") };
    let body: String = events.iter().map(line).collect();
    summary(&(protocol.read)(vec![body.into_bytes()]))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn pieces_of_interleaved_blocks_add_up_to_the_answer(steps in steps()) {
        for protocol in all() {
            let events = events(protocol.name, &steps);
            let whole = read(protocol.name, &events);
            prop_assert_eq!(&whole.error, &None, "{:?}", protocol);
            for cut in 0..events.len() {
                let part = read(protocol.name, &events[..cut]);
                prop_assert!(whole.text.starts_with(&part.text), "{:?} cut at {}", protocol, cut);
                prop_assert!(whole.thinking.starts_with(&part.thinking), "{:?} cut at {}", protocol, cut);
            }
        }
    }
}

#[cfg(feature = "anthropic")]
mod anthropic_blocks {
    use super::*;

    fn start(index: u64, kind: &str, text: &str) -> Value {
        json!({ "type": "content_block_start", "index": index, "content_block": { "type": kind, kind: text } })
    }

    fn delta(index: u64, kind: &str, text: &str) -> Value {
        json!({ "type": "content_block_delta", "index": index, "delta": { kind: text } })
    }

    fn stop(index: u64) -> Value {
        json!({ "type": "content_block_stop", "index": index })
    }

    fn ended(mut events: Vec<Value>) -> Summary {
        events.push(json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" } }));
        events.push(json!({ "type": "message_stop" }));
        read("anthropic", &events)
    }

    #[test]
    fn block_waits_for_the_end_of_its_predecessor() {
        let begun = vec![
            start(0, "thinking", "Hm"),
            start(1, "thinking", "So"),
            delta(0, "thinking", ", yes."),
        ];
        assert_eq!(read("anthropic", &begun).thinking, "Hm, yes.");
        assert_eq!(ended(begun.clone()).thinking, "Hm, yes.So");
        let next = [begun, vec![stop(0), delta(1, "thinking", "!")]].concat();
        assert_eq!(read("anthropic", &next).thinking, "Hm, yes.So!");
    }

    #[test]
    fn block_of_another_kind_does_not_wait() {
        let begun =
            vec![start(0, "thinking", "Hm"), start(1, "text", "Ja"), delta(0, "thinking", ".")];
        let said = read("anthropic", &begun);
        assert_eq!((&*said.thinking, &*said.text), ("Hm.", "Ja"));
    }

    #[test]
    fn index_that_starts_again_ends_the_earlier_block() {
        let events = vec![start(0, "text", "a"), start(0, "text", "b"), delta(0, "text", "c")];
        assert_eq!(read("anthropic", &events).text, "abc");
        let kinds = vec![start(0, "text", "a"), start(0, "thinking", "b"), start(1, "text", "c")];
        assert_eq!(read("anthropic", &kinds).text, "ac");
    }
}
