//! A streamed answer equals the same answer without streaming.

use super::client;
use crate::fixtures::whole_and_streamed;
use ai_services_tests::fault_server::{answer, json_answer};
use proptest::prelude::*;
use serde_json::{Value, json};

#[derive(Clone, Debug)]
struct Said {
    text: Vec<String>,
    thinking: Vec<String>,
    /// Names and arguments.
    calls: Vec<(String, String)>,
    reason: &'static str,
}

fn said() -> impl Strategy<Value = Said> {
    let pieces = || prop::collection::vec("[a-zé😀\"\\\\\n{} ]{0,6}", 0..5);
    let calls = prop::collection::vec(("[a-z]{1,3}", "[a-zé\"\n]{0,4}"), 0..4);
    let reason = prop::sample::select(vec!["stop", "length", "load", "new"]);
    (pieces(), pieces(), calls, reason).prop_map(|(text, thinking, calls, reason)| Said {
        text,
        thinking,
        calls,
        reason,
    })
}

fn call((index, (name, argument)): (usize, &(String, String))) -> Value {
    json!({ "id": format!("c{index}"),
        "function": { "name": name, "arguments": { "z": argument, "a": 1 } } })
}

fn end(said: &Said) -> Value {
    json!({ "model": "m-1", "message": { "role": "assistant", "content": "" }, "done": true,
        "done_reason": said.reason, "prompt_eval_count": 3, "eval_count": 9 })
}

fn whole(said: &Said) -> Value {
    let mut whole = end(said);
    let calls: Vec<_> = said.calls.iter().enumerate().map(call).collect();
    whole["message"] = json!({ "role": "assistant", "content": said.text.concat(),
        "thinking": said.thinking.concat(), "tool_calls": calls });
    whole
}

fn stream(said: &Said) -> String {
    let thinking = said.thinking.iter().map(|piece| json!({ "content": "", "thinking": piece }));
    let text = said.text.iter().map(|piece| json!({ "content": piece }));
    let calls = said.calls.iter().enumerate();
    let calls = calls.map(|it| json!({ "content": "", "tool_calls": [call(it)] }));
    let pieces = thinking.chain(text).chain(calls);
    let lines = pieces.map(|message| json!({ "model": "m-1", "message": message, "done": false }));
    lines.chain([end(said)]).map(|line| format!("{line}\n")).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn streamed_answer_equals_the_whole_one(said in said()) {
        let lines = answer(200, &[("content-type", "application/x-ndjson")], stream(&said));
        let answers = [json_answer(&whole(&said)), lines];
        let [whole, streamed] = whole_and_streamed(answers, |server| client(server).build().unwrap());
        prop_assert_eq!(whole, streamed);
    }
}
