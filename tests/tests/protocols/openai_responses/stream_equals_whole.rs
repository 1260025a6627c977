//! A streamed answer equals the same answer without streaming.

use super::client;
use crate::fixtures::whole_and_streamed;
use ai_services_tests::fault_server::{events_answer, json_answer};
use proptest::prelude::*;
use serde_json::{Value, json};

/// An item of an answer, in pieces.
#[derive(Clone, Debug)]
enum Item {
    Text(Vec<String>),
    Refusal(String),
    Summary(Vec<Vec<String>>),
    Reasoning(Vec<String>),
    Call(String, Vec<String>),
    Search,
}

/// The dialect of a server.
#[derive(Clone, Copy, Debug)]
struct Dialect {
    is_numbered: bool,
    has_items: bool,
    has_output: bool,
    line_end: &'static str,
}

fn items() -> impl Strategy<Value = Vec<Item>> {
    let pieces = || prop::collection::vec("[a-zé😀\"\\\\\n{} ]{0,6}", 0..4);
    let item = prop_oneof![
        pieces().prop_map(Item::Text),
        "[a-z]{0,4}".prop_map(Item::Refusal),
        prop::collection::vec(pieces(), 0..3).prop_map(Item::Summary),
        pieces().prop_map(Item::Reasoning),
        ("[a-z]{1,3}", pieces()).prop_map(|(name, pieces)| Item::Call(name, pieces)),
        Just(Item::Search),
    ];
    prop::collection::vec(item, 0..5)
}

fn dialect() -> impl Strategy<Value = Dialect> {
    let line_end = prop::sample::select(vec!["\n", "\r\n", "\r"]);
    (any::<[bool; 3]>(), line_end).prop_map(|([is_numbered, has_items, has_output], line_end)| {
        // A stream without output in its last event needs the items.
        Dialect { is_numbered, has_items: has_items || !has_output, has_output, line_end }
    })
}

fn item(item: &Item, index: usize) -> Value {
    let id = format!("i{index}");
    let message = |part: Value| json!({ "type": "message", "id": id, "content": [part] });
    match item {
        Item::Text(pieces) => message(json!({ "type": "output_text", "text": pieces.concat() })),
        Item::Refusal(text) => message(json!({ "type": "refusal", "refusal": text })),
        Item::Summary(thoughts) => {
            let part =
                |thought: &Vec<String>| json!({ "type": "summary_text", "text": thought.concat() });
            let summary: Vec<_> = thoughts.iter().map(part).collect();
            json!({ "type": "reasoning", "id": id, "summary": summary, "encrypted_content": "x" })
        }
        Item::Reasoning(pieces) => {
            let part = json!({ "type": "reasoning_text", "text": pieces.concat() });
            json!({ "type": "reasoning", "id": id, "summary": [], "content": [part] })
        }
        Item::Call(name, pieces) => {
            json!({ "type": "function_call", "id": id, "call_id": format!("c{index}"),
                "name": name, "arguments": pieces.concat() })
        }
        Item::Search => json!({ "type": "web_search_call", "id": id }),
    }
}

fn response(items: &[Item]) -> Value {
    let output: Vec<_> = items.iter().enumerate().map(|(index, of)| item(of, index)).collect();
    json!({ "id": "r", "model": "m", "status": "completed", "output": output,
        "usage": { "input_tokens": 3, "output_tokens": 9 } })
}

fn stream(items: &[Item], dialect: Dialect) -> String {
    let mut events = vec![json!({ "type": "response.created", "response": { "id": "r" } })];
    for (index, of) in items.iter().enumerate() {
        let mut add = |kind: &str, more: Value| {
            let mut event =
                json!({ "type": format!("response.{kind}"), "item_id": format!("i{index}") });
            if dialect.is_numbered {
                event["output_index"] = index.into();
            }
            event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            events.push(event);
        };
        match of {
            Item::Text(pieces) => {
                pieces.iter().for_each(|piece| add("output_text.delta", json!({ "delta": piece })));
            }
            Item::Refusal(text) => add("refusal.delta", json!({ "delta": text })),
            Item::Summary(thoughts) => {
                for (number, piece) in thoughts
                    .iter()
                    .enumerate()
                    .flat_map(|(number, pieces)| pieces.iter().map(move |piece| (number, piece)))
                {
                    let delta = json!({ "delta": piece, "summary_index": number });
                    add("reasoning_summary_text.delta", delta);
                }
            }
            Item::Reasoning(pieces) => {
                for piece in pieces {
                    add("reasoning_text.delta", json!({ "delta": piece, "content_index": 0 }));
                }
            }
            Item::Call(_, pieces) => {
                let mut begun = item(of, index);
                begun["arguments"] = "".into();
                add("output_item.added", json!({ "item": begun }));
                for piece in pieces {
                    add("function_call_arguments.delta", json!({ "delta": piece }));
                }
            }
            Item::Search => {}
        }
        if dialect.has_items {
            add("output_item.done", json!({ "item": item(of, index) }));
        }
    }
    let mut last = response(items);
    if !dialect.has_output {
        last["output"] = json!([]);
    }
    events.push(json!({ "type": "response.completed", "response": last }));
    let end = dialect.line_end;
    events.iter().map(|event| format!("data: {event}{end}{end}")).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn streamed_answer_equals_the_whole_one(items in items(), dialect in dialect()) {
        let answers = [json_answer(&response(&items)), events_answer(stream(&items, dialect))];
        let [whole, streamed] = whole_and_streamed(answers, |server| client(server).build().unwrap());
        prop_assert_eq!(whole, streamed);
    }
}
