//! Streams that are cut, split or damaged at every byte, in process.

use crate::stream_cuts::{Dialects, ToolCalls};
use ai_services::ErrorKind;
use ai_services::fuzzing::{Summary, gemini_events, summary};
use ai_services::model::TokenUsage;

/// The row of this protocol in the table of [`stream_cuts`](crate::stream_cuts).
pub(crate) const DIALECTS: Dialects = Dialects {
    protocol: "gemini",
    streams: &STREAMS,
    read: |pieces| gemini_events(pieces),
    expected,
    end: |stream| stream.trim_end().len(),
    tool_calls: ToolCalls::Whole,
    ignored_after_end: |_| None,
};

const STREAMS: [(&str, &str); 4] = [
    ("text", include_str!("streams/text.sse")),
    ("thinking", include_str!("streams/thinking.sse")),
    ("signed_text", include_str!("streams/signed_text.sse")),
    ("no_ids", include_str!("streams/no_ids.sse")),
];

fn of(pieces: impl IntoIterator<Item = Vec<u8>>) -> Summary {
    summary(&gemini_events(pieces))
}

fn call(id: &str, name: &str, arguments: &str) -> (String, String, String) {
    (id.into(), name.into(), arguments.into())
}

/// Returns the answer in the stream with this name.
fn expected(name: &str) -> Summary {
    let mut expected = Summary::default();
    let usage = |input, output| TokenUsage::new(input, output).with_total(Some(input + output));
    match name {
        "text" => {
            expected.text = "Grüße, \"日本\"\n😀!".into();
            expected.usage = usage(9, 25).with_cached_input(Some(4)).with_reasoning(Some(20));
        }
        "thinking" => {
            expected.thinking = "**Looking**\n\nThe weather of two cities.".into();
            expected.text = "I look.".into();
            expected.calls = vec![
                call("call_17", "weather", r#"{"city":"Köln"}"#),
                call("call_18", "weather", r#"{"city":"Rio"}"#),
            ];
            expected.usage = usage(12, 37).with_reasoning(Some(28));
        }
        "signed_text" => (expected.text, expected.usage) = ("Twelve.".into(), usage(3, 2)),
        _ => {
            expected.calls = vec![
                call("gemini-call-0000000000000000-0", "now", "{}"),
                call("gemini-call-0000000000000000-1", "add", r#"{"a":1}"#),
            ];
            expected.usage = usage(8, 4);
        }
    }
    expected
}

#[test]
fn error_after_the_reason_is_an_error() {
    let (_, stream) = STREAMS[0];
    let error = "data: {\"error\": {\"code\": 503, \"message\": \"overloaded\", \"status\": \"UNAVAILABLE\"}}\n\n";
    let told = of([[stream, error].concat().into_bytes()]);
    assert_eq!(told.error.unwrap().0, ErrorKind::Unavailable);
    assert_eq!((told.text, told.usage), (expected("text").text, expected("text").usage));
}

#[test]
fn other_end_marks_are_accepted() {
    let (name, stream) = STREAMS[1];
    let marked = [stream, "data: [DONE]\n\n", "data: nothing\n\n"].concat();
    assert_eq!(of([marked.into_bytes()]), expected(name));
    let early = of(["data: [DONE]\n\n".into()]);
    assert_eq!(early.error.unwrap().0, ErrorKind::InvalidResponse);
}

#[test]
fn list_of_documents_in_one_event_is_read() {
    let (name, stream) = STREAMS[1];
    let documents: Vec<_> = stream.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
    let list = format!("data: [{}]\n\n", documents.join(","));
    assert_eq!(of([list.into_bytes()]), expected(name));
}

#[test]
fn too_many_calls_are_an_error() {
    let call = r#"{"functionCall":{"name":"f"}}"#;
    let of_calls = |count: usize| {
        let parts = vec![call; count].join(",");
        let document = format!(
            r#"{{"candidates":[{{"content":{{"parts":[{parts}]}},"finishReason":"STOP"}}]}}"#
        );
        of([format!("data: {document}\n\n").into_bytes()])
    };
    assert_eq!(of_calls(128).calls.len(), 128);
    let (kind, message) = of_calls(129).error.unwrap();
    assert_eq!(kind, ErrorKind::InvalidResponse);
    assert!(message.contains("tool calls"), "{message}");
}
