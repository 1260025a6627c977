//! Streams that are cut, split or damaged at every byte, in process.

use crate::stream_cuts::{Dialects, ToolCalls};
use ai_services::ErrorKind;
use ai_services::fuzzing::{Summary, anthropic_events, summary};
use ai_services::model::TokenUsage;

/// The row of this protocol in the table of [`stream_cuts`](crate::stream_cuts).
pub(crate) const DIALECTS: Dialects = Dialects {
    protocol: "anthropic",
    streams: &STREAMS,
    read: |pieces| anthropic_events(pieces),
    expected,
    end,
    tool_calls: ToolCalls::InPieces,
    ignored_after_end: |_| Some("data: {\"error\":\"x\"}\n\n"),
};

pub(crate) const STREAMS: [(&str, &str); 5] = [
    ("text", include_str!("streams/text.sse")),
    ("tools", include_str!("streams/tools.sse")),
    ("thinking", include_str!("streams/thinking.sse")),
    ("search", include_str!("streams/search.sse")),
    ("compatible", include_str!("streams/compatible.sse")),
];

/// Returns the end of the event with the stop reason and the final usage, or of the end mark if a block is
/// open.
fn end(stream: &str) -> usize {
    let count = |event| stream.matches(event).count();
    if count(r#""type":"content_block_start""#) > count(r#""type":"content_block_stop""#) {
        return stream.trim_end().len();
    }
    let last = stream.rfind(r#""stop_reason":"#).unwrap();
    stream[last..].find(['\r', '\n']).unwrap() + last
}

fn of(pieces: impl IntoIterator<Item = Vec<u8>>) -> Summary {
    summary(&anthropic_events(pieces))
}

fn call(id: &str, name: &str, arguments: &str) -> (String, String, String) {
    (id.into(), name.into(), arguments.into())
}

/// Returns the answer in the stream with this name.
fn expected(name: &str) -> Summary {
    let mut expected = Summary::default();
    match name {
        "text" => {
            expected.text = "Grüße, \"日本\"\n😀!".into();
            let cached = TokenUsage::new(13, 5).with_cached_input(Some(4));
            expected.usage = cached.with_cache_write_input(Some(0));
        }
        "tools" => {
            expected.text = "I look.".into();
            let city = r#"{"city": "Köln"}"#;
            expected.calls = vec![call("toolu_a", "weather", city), call("toolu_b", "now", "{}")];
            expected.usage = TokenUsage::new(443, 50);
        }
        "thinking" => {
            (expected.text, expected.thinking) = ("It is 4.".into(), "Let me see…".into());
            expected.calls = vec![call("toolu_c", "add", r#"{"a": 1, "b": 3}"#)];
            expected.usage = TokenUsage::new(20, 31).with_reasoning(Some(12));
        }
        "search" => {
            expected.text = "It rains in Oslo. Take a coat.".into();
            expected.usage = TokenUsage::new(2000, 80);
        }
        _ => {
            expected.thinking = "Hm, yes.".into();
            expected.calls = vec![call("call_1", "add", r#"{"a":1}"#), call("call_2", "now", "{}")];
            expected.usage = TokenUsage::new(11, 4);
        }
    }
    expected
}

#[test]
fn protocol_of_the_fault_matrix_streams_its_whole_answer() {
    let protocols = ai_services_tests::protocols::all();
    let protocol = protocols.iter().find(|protocol| protocol.name == "anthropic").unwrap();
    let said = of([(protocol.stream)().into_bytes()]);
    assert_eq!((said.text.as_str(), said.error), (ai_services_tests::protocols::TEXT, None));
    assert_eq!(said.calls, [call("call-1", "weather", r#"{"city":"Oslo"}"#)]);
    assert_eq!((said.thinking.as_str(), said.usage), ("hm", TokenUsage::new(7, 5)));
    let whole: serde_json::Value = serde_json::from_str(&(protocol.whole)()).unwrap();
    assert_eq!(whole["content"][1]["text"], said.text);
    let cut = format!("{}{}", (protocol.stream_error)(), (protocol.stream)());
    assert_eq!(of([cut.into_bytes()]).error.unwrap().0, ErrorKind::Unavailable);
}
