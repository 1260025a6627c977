//! A streamed answer equals the same answer without streaming.

use super::client;
use crate::fixtures::whole_and_streamed;
use ai_services::model::ChatResponse;
use ai_services_tests::fault_server::{events_answer, json_answer};
use proptest::prelude::*;
use serde_json::{Value, json};

#[derive(Clone, Debug)]
enum Block {
    Text(Vec<String>, bool),
    Thinking(Vec<String>),
    Redacted,
    Call(Option<i32>, usize),
    Search,
}

fn block() -> impl Strategy<Value = Block> {
    let pieces = || prop::collection::vec("[a-zé😀\"\\\\\n{} ]{0,6}", 0..4);
    prop_oneof![
        (pieces(), any::<bool>()).prop_map(|(pieces, cited)| Block::Text(pieces, cited)),
        pieces().prop_map(Block::Thinking),
        Just(Block::Redacted),
        (any::<Option<i32>>(), 0..12_usize).prop_map(|(number, at)| Block::Call(number, at)),
        Just(Block::Search),
    ]
}

fn citation() -> Value {
    json!({ "type": "char_location", "cited_text": "x", "document_index": 0 })
}

fn input(number: Option<i32>) -> Value {
    number.map_or_else(|| json!({}), |number| json!({ "n": number, "s": "é\"" }))
}

fn whole(index: usize, block: &Block) -> Value {
    match block {
        Block::Text(pieces, false) => json!({ "type": "text", "text": pieces.concat() }),
        Block::Text(pieces, true) => {
            json!({ "type": "text", "text": pieces.concat(), "citations": [citation()] })
        }
        Block::Thinking(pieces) => {
            json!({ "type": "thinking", "thinking": pieces.concat(), "signature": format!("s{index}==") })
        }
        Block::Redacted => json!({ "type": "redacted_thinking", "data": "b3Bh" }),
        Block::Call(number, _) => {
            json!({ "type": "tool_use", "id": format!("c{index}"), "name": "t", "input": input(*number) })
        }
        Block::Search => {
            json!({ "type": "server_tool_use", "id": "s", "name": "search", "input": { "query": "q" } })
        }
    }
}

fn deltas(index: usize, block: &Block) -> (Value, Vec<Value>) {
    let each = |kind: &str, name: &str, pieces: &[String]| -> Vec<Value> {
        pieces.iter().map(|piece| json!({ "type": kind, name: piece })).collect()
    };
    let mut start = whole(index, block);
    let deltas = match block {
        Block::Text(pieces, is_cited) => {
            start = json!({ "type": "text", "text": "" });
            let mut deltas = each("text_delta", "text", pieces);
            if *is_cited {
                start["citations"] = json!([]);
                deltas.push(json!({ "type": "citations_delta", "citation": citation() }));
            }
            deltas
        }
        Block::Thinking(pieces) => {
            start = json!({ "type": "thinking", "thinking": "", "signature": "" });
            let mut deltas = each("thinking_delta", "thinking", pieces);
            let signature = format!("s{index}==");
            deltas.push(json!({ "type": "signature_delta", "signature": signature }));
            deltas
        }
        Block::Redacted => vec![],
        Block::Call(number, at) => {
            start["input"] = json!({});
            let text = number.map_or_else(String::new, |_| input(*number).to_string());
            let at = (0..=*at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            let (begin, end) = text.split_at(at);
            each("input_json_delta", "partial_json", &[begin.to_owned(), end.to_owned()])
        }
        Block::Search => {
            start["input"] = json!({});
            vec![json!({ "type": "input_json_delta", "partial_json": "{\"query\":\"q\"}" })]
        }
    };
    (start, deltas)
}

fn stream(blocks: &[Block]) -> String {
    let mut events = vec![json!({ "type": "message_start", "message": {
        "id": "i", "model": "m", "content": [], "usage": { "input_tokens": 3, "output_tokens": 1 } } })];
    for (index, block) in blocks.iter().enumerate() {
        let (start, deltas) = deltas(index, block);
        events
            .push(json!({ "type": "content_block_start", "index": index, "content_block": start }));
        events.extend(
            deltas.into_iter().map(
                |delta| json!({ "type": "content_block_delta", "index": index, "delta": delta }),
            ),
        );
        events.push(json!({ "type": "content_block_stop", "index": index }));
    }
    events.push(json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" },
        "usage": { "output_tokens": 9 } }));
    events.push(json!({ "type": "message_stop" }));
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

/// The stored content of the provider as JSON. Only blanks and escapes may differ.
fn content(response: &ChatResponse) -> Option<Value> {
    let content = response.message.provider_content()?;
    Some(serde_json::from_str(content.json()).unwrap())
}

fn check(blocks: &[Block]) {
    let list: Vec<_> = blocks.iter().enumerate().map(|(at, block)| whole(at, block)).collect();
    let document = json!({ "id": "i", "model": "m", "content": list, "stop_reason": "end_turn",
        "usage": { "input_tokens": 3, "output_tokens": 9 } });
    let answers = [json_answer(&document), events_answer(stream(blocks))];
    let [whole, streamed] = whole_and_streamed(answers, |server| client(server).build().unwrap());
    assert_eq!(content(&whole), content(&streamed));
    let parts = |response: &ChatResponse| {
        let message = &response.message;
        let [text, thinking] = [message.text(), message.thinking()].map(|t| t.map(str::to_owned));
        let calls = message.tool_calls().to_vec();
        (text, thinking, calls, response.usage, response.finish_reason.clone(), response.id.clone())
    };
    assert_eq!(parts(&whole), parts(&streamed));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn streamed_answer_equals_the_whole_one(blocks in prop::collection::vec(block(), 0..6)) {
        check(&blocks);
    }
}

#[test]
fn thoughts_and_calls_are_kept_the_same() {
    let pieces = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    check(&[
        Block::Thinking(pieces("let me see")),
        Block::Redacted,
        Block::Text(pieces("a b"), true),
        Block::Call(Some(7), 5),
        Block::Call(None, 0),
        Block::Thinking(pieces("and more")),
        Block::Text(pieces("so"), false),
    ]);
}
