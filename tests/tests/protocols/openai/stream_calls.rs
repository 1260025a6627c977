//! Tool calls in pieces, with every numbering and naming that servers use.

use ai_services::ErrorKind;
use ai_services::fuzzing::{Summary, chat_events, summary};
use serde_json::{Value, json};

/// Returns the calls in these pieces, each in a separate chunk.
fn of(pieces: impl IntoIterator<Item = Value>) -> Summary {
    let chunk = |choice: Value| format!("data: {}\n\n", json!({ "choices": [choice] }));
    let calls =
        pieces.into_iter().map(|piece| chunk(json!({ "delta": { "tool_calls": [piece] } })));
    let end = [chunk(json!({ "delta": {}, "finish_reason": "tool_calls" })), "data: [DONE]".into()];
    summary(&chat_events(calls.chain(end).map(String::into_bytes)))
}

fn calls(pieces: impl IntoIterator<Item = Value>) -> Vec<[String; 3]> {
    let summary = of(pieces);
    assert_eq!(summary.error, None);
    summary.calls.into_iter().map(|(id, name, arguments)| [id, name, arguments]).collect()
}

fn function(name: &str, arguments: &str) -> Value {
    json!({ "name": name, "arguments": arguments })
}

#[test]
fn pieces_are_assembled_by_index() {
    let pieces = [
        json!({ "index": 0, "id": "a", "function": function("f", "") }),
        json!({ "index": 1, "id": "b", "function": function("g", "[") }),
        json!({ "index": 0, "function": { "arguments": "{}" } }),
        json!({ "index": 1, "function": { "arguments": "]" } }),
    ];
    assert_eq!(calls(pieces), [["a", "f", "{}"], ["b", "g", "[]"]]);
}

#[test]
fn indices_may_begin_anywhere_and_be_strings() {
    let pieces = [
        json!({ "index": "7", "id": "a", "function": function("f", "1") }),
        json!({ "index": 7, "function": { "arguments": "2" } }),
        json!({ "index": 3, "id": "b", "function": function("f", "3") }),
    ];
    assert_eq!(calls(pieces), [["a", "f", "12"], ["b", "f", "3"]]);
}

#[test]
fn id_and_name_may_be_repeated() {
    for index in [json!(0), Value::Null] {
        let piece = |arguments: &str| json!({ "index": index, "id": "a", "function": function("f", arguments) });
        assert_eq!(calls(["{\"a\":", "{}", "}"].map(piece)), [["a", "f", r#"{"a":{}}"#]]);
        let nameless =
            |arguments: &str| json!({ "index": index, "function": function("f", arguments) });
        assert_eq!(calls(["{\"a\":", "{}", "}"].map(nameless)), [["", "f", r#"{"a":{}}"#]]);
    }
}

#[test]
fn every_piece_may_have_its_own_id() {
    let pieces = [
        json!({ "index": 0, "id": "a", "function": function("f", "{") }),
        json!({ "index": 0, "id": "b", "function": { "arguments": "}" } }),
    ];
    assert_eq!(calls(pieces), [["a", "f", "{}"]]);
}

#[test]
fn whole_calls_with_one_index_are_distinguished() {
    let whole = |id: &str, index: Value| json!({ "index": index, "id": id, "function": function("f", "{}") });
    for index in [json!(0), Value::Null] {
        assert_eq!(
            calls(["a", "b"].map(|id| whole(id, index.clone()))),
            [["a", "f", "{}"], ["b", "f", "{}"]]
        );
        // Without ids, complete arguments are the end of a call.
        assert_eq!(
            calls([whole("", index.clone()), whole("", index.clone())]),
            [["", "f", "{}"], ["", "f", "{}"]]
        );
        let other = json!({ "index": index, "function": function("g", "") });
        assert_eq!(calls([whole("", index), other]), [["", "f", "{}"], ["", "g", ""]]);
    }
}

#[test]
fn pieces_without_index_continue_the_last_call() {
    let pieces = [
        json!({ "id": "a", "function": function("f", "{") }),
        json!({ "function": { "arguments": "}" } }),
        json!({ "id": "b", "function": function("f", "[") }),
        json!({ "id": "b", "function": { "arguments": "]" } }),
    ];
    assert_eq!(calls(pieces), [["a", "f", "{}"], ["b", "f", "[]"]]);
}

#[test]
fn pieces_continue_the_latest_call_with_their_index() {
    let pieces = [
        json!({ "index": 0, "id": "a", "function": function("f", "{}") }),
        json!({ "index": 0, "id": "b", "function": function("f", "{") }),
        json!({ "index": 0, "function": { "arguments": "}" } }),
    ];
    assert_eq!(calls(pieces), [["a", "f", "{}"], ["b", "f", "{}"]]);
}

#[test]
fn arguments_may_be_json_itself() {
    let object = json!({ "x": [1, "\u{e9}"] });
    let piece = json!({ "index": 0, "id": "a", "function": { "name": "f", "arguments": object } });
    assert_eq!(calls([piece]), [["a", "f", r#"{"x":[1,"é"]}"#]]);
}

#[test]
fn brackets_in_texts_do_not_end_a_call() {
    let pieces = [r#"{"a":"}"#, r#"{\"}"#, r#"","b":1}"#];
    let pieces =
        pieces.map(|arguments| json!({ "index": 0, "function": function("f", arguments) }));
    assert_eq!(calls(pieces), [["", "f", r#"{"a":"}{\"}","b":1}"#]]);
}

#[test]
fn too_many_calls_are_an_error() {
    let piece = |index: u64| json!({ "index": index, "id": index.to_string(), "function": function("f", "") });
    assert_eq!(calls((0..128).map(piece)).len(), 128);
    for index in [128, 4_000_000_000, u64::MAX] {
        let (kind, message) = of([piece(0), piece(index)]).error.unwrap();
        assert_eq!(kind, ErrorKind::InvalidResponse);
        assert_eq!(message, "the answer has more than 128 tool calls");
    }
    let unnumbered = |id: u64| json!({ "id": id.to_string(), "function": function("f", "") });
    assert_eq!(of((0..129).map(unnumbered)).error.unwrap().0, ErrorKind::InvalidResponse);
}

#[test]
fn empty_pieces_are_ignored() {
    let pieces = [
        json!({ "index": 0, "id": "a", "function": function("f", "") }),
        json!({ "index": 0, "function": function("", "") }),
        json!({ "index": 0, "id": "", "function": null }),
        json!({ "index": 0 }),
    ];
    // `"function": null` is not part of the protocol, and no known server sends it.
    assert_eq!(of([pieces[2].clone()]).error.unwrap().0, ErrorKind::InvalidResponse);
    let [first, second, _, last] = pieces;
    assert_eq!(calls([first, second, last]), [["a", "f", ""]]);
}

#[test]
fn call_without_content_is_ignored() {
    let pieces = [
        json!({ "index": 0, "id": "a", "function": function("f", "{}") }),
        json!({ "index": 1, "function": function("", "") }),
        json!({ "index": 2, "id": "b", "function": function("g", "[]") }),
    ];
    assert_eq!(calls(pieces), [["a", "f", "{}"], ["b", "g", "[]"]]);
}
