//! A streamed answer equals the same answer without streaming.

use super::client;
use crate::fixtures::whole_and_streamed;
use ai_services_tests::fault_server::{events_answer, json_answer};
use proptest::prelude::*;
use serde_json::{Value, json};

/// The dialect of a server.
#[derive(Clone, Debug)]
struct Dialect {
    thinking: &'static str,
    repeats_ids: bool,
    is_numbered: bool,
    usage_in_every_chunk: bool,
    line_end: &'static str,
}

#[derive(Clone, Debug)]
struct Said {
    text: Option<Vec<String>>,
    thinking: Vec<String>,
    refusal: Vec<String>,
    /// Reasoning details of OpenRouter.
    details: Vec<Vec<String>>,
    calls: Vec<(String, Vec<String>)>,
}

fn dialect() -> impl Strategy<Value = Dialect> {
    let thinking = prop::sample::select(vec!["reasoning_content", "reasoning"]);
    let line_end = prop::sample::select(vec!["\n", "\r\n", "\r"]);
    (thinking, any::<[bool; 3]>(), line_end).prop_map(
        |(thinking, [repeats_ids, is_numbered, usage_in_every_chunk], line_end)| Dialect {
            thinking,
            repeats_ids,
            is_numbered,
            usage_in_every_chunk,
            line_end,
        },
    )
}

fn said() -> impl Strategy<Value = Said> {
    let pieces = || prop::collection::vec("[a-zé😀\"\\\\\n{} ]{0,6}", 0..5);
    let calls = prop::collection::vec(("[a-z]{1,3}", pieces()), 0..4);
    let details = prop::collection::vec(prop::collection::vec("[é😀\"\\\\\n]{0,3}", 1..4), 0..3);
    (prop::option::of(pieces()), pieces(), pieces(), details, calls).prop_map(
        |(text, thinking, refusal, details, calls)| Said {
            text,
            thinking,
            refusal,
            details,
            calls,
        },
    )
}

fn whole(said: &Said, dialect: &Dialect) -> Value {
    let calls: Vec<_> = said
        .calls
        .iter()
        .enumerate()
        .map(|(index, (name, arguments))| {
            json!({ "id": format!("c{index}"), "extra_content": extra_content(index),
            "function": { "name": name, "arguments": arguments.concat() } })
        })
        .collect();
    let details = said.details.iter().enumerate();
    let details: Vec<_> = details.map(|(index, text)| detail(index, &text.concat())).collect();
    let message = json!({
        "content": said.text.as_ref().map(|text| text.concat()), "tool_calls": calls,
        "refusal": said.refusal.concat(), dialect.thinking: said.thinking.concat(),
        "reasoning_details": details,
    });
    json!({
        "id": "i", "model": "m", "usage": { "prompt_tokens": 3, "completion_tokens": 9 },
        "choices": [{ "message": message, "finish_reason": "stop" }],
    })
}

fn detail(index: usize, text: &str) -> Value {
    json!({ "type": "reasoning.text", "index": index, "text": text })
}

/// The signature of every other call.
fn extra_content(index: usize) -> Option<Value> {
    index.is_multiple_of(2).then(|| json!({ "google": { "thought_signature": index } }))
}

fn stream(said: &Said, dialect: &Dialect) -> String {
    let member = |name: &str, pieces: &[String]| -> Vec<Value> {
        pieces.iter().map(|piece| json!({ name: piece })).collect()
    };
    let mut deltas = member(dialect.thinking, &said.thinking);
    deltas.extend(said.text.as_ref().map(|_| json!({ "role": "assistant", "content": "" })));
    deltas.extend(member("content", said.text.as_deref().unwrap_or_default()));
    deltas.extend(member("refusal", &said.refusal));
    for (index, pieces) in said.details.iter().enumerate() {
        let details = pieces.iter().map(|text| detail(index, text));
        deltas.extend(details.map(|detail| json!({ "reasoning_details": [detail] })));
    }
    for (index, (name, arguments)) in said.calls.iter().enumerate() {
        let (id, name) = (json!(format!("c{index}")), json!(name));
        let first = json!({ "id": id, "extra_content": extra_content(index),
            "function": { "name": name, "arguments": "" } });
        let rest = arguments.iter().map(|arguments| match dialect.repeats_ids {
            true => json!({ "id": id, "function": { "name": name, "arguments": arguments } }),
            false => json!({ "function": { "arguments": arguments } }),
        });
        for mut piece in std::iter::once(first).chain(rest) {
            if dialect.is_numbered {
                piece["index"] = index.into();
            }
            deltas.push(json!({ "tool_calls": [piece] }));
        }
    }
    let mut choices: Vec<_> = deltas.into_iter().map(|delta| json!([{ "delta": delta }])).collect();
    choices.push(json!([{ "delta": {}, "finish_reason": "stop" }]));
    choices.push(json!([]));
    let count = choices.len();
    let chunks = choices.into_iter().enumerate().map(|(index, choices)| {
        let mut chunk = json!({ "id": "i", "model": "m", "choices": choices });
        if dialect.usage_in_every_chunk || index + 1 == count {
            chunk["usage"] = json!({ "prompt_tokens": 3, "completion_tokens": 10 * index });
        }
        if index + 1 == count {
            chunk["usage"]["completion_tokens"] = 9.into();
        }
        chunk.to_string()
    });
    let end = dialect.line_end;
    chunks.chain(["[DONE]".to_owned()]).map(|data| format!("data: {data}{end}{end}")).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn streamed_answer_equals_the_whole_one(said in said(), dialect in dialect()) {
        let answers = [json_answer(&whole(&said, &dialect)), events_answer(stream(&said, &dialect))];
        let [whole, streamed] = whole_and_streamed(answers, |server| client(server).build().unwrap());
        prop_assert_eq!(whole, streamed);
    }
}
