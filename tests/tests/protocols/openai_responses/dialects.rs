//! Streams that are cut, split or damaged at every byte, in process.

use crate::stream_cuts::{Dialects, ToolCalls};
use ai_services::fuzzing::{Summary, responses_events};
use ai_services::model::TokenUsage;

/// The row of this protocol in the table of [`stream_cuts`](crate::stream_cuts).
pub(crate) const DIALECTS: Dialects = Dialects {
    protocol: "openai_responses",
    streams: &STREAMS,
    read: |pieces| responses_events(pieces),
    expected,
    end: end_of_last_event,
    tool_calls: ToolCalls::InPieces,
    ignored_after_end: |_| Some("data: {\"error\":\"x\"}\n\n"),
};

/// Recorded streams of several servers.
const STREAMS: [(&str, &str); 5] = [
    ("openai", include_str!("streams/openai.sse")),
    ("openai_tools", include_str!("streams/openai_tools.sse")),
    ("llama", include_str!("streams/llama.sse")),
    ("search", include_str!("streams/search.sse")),
    ("incomplete", include_str!("streams/incomplete.sse")),
];

fn call(id: &str, name: &str, arguments: &str) -> (String, String, String) {
    (id.into(), name.into(), arguments.into())
}

/// Returns the answer in the stream with this name.
fn expected(name: &str) -> Summary {
    let usage = TokenUsage::new(9, 5)
        .with_cached_input(Some(4))
        .with_cache_write_input(Some(1))
        .with_reasoning(Some(2))
        .with_total(Some(14));
    let mut expected = Summary { usage, ..Summary::default() };
    match name {
        "openai" => expected.text = "Grüße, \"日本\"\n😀!".into(),
        "openai_tools" => {
            let (a, b) = (r#"{"city":"Köln"}"#, r#"{"city":"Rio"}"#);
            expected.thinking =
                "**Weighing**\n\nTwo cities.\n\n**Deciding**\n\nAsk for both…".into();
            expected.calls = vec![call("call_a", "weather", a), call("call_b", "weather", b)];
        }
        "llama" => {
            (expected.text, expected.thinking) = ("It is 4.".into(), "Let me see…".into());
            expected.calls = vec![call("fc_y", "add", r#"{"a":1}"#)];
            expected.usage = TokenUsage::new(11, 4).with_cached_input(Some(0)).with_total(Some(15));
        }
        "search" => expected.text = "Let me look. Ja.".into(),
        _ => expected.text = "Once upon".into(),
    }
    expected
}

/// Returns the end of the data of the last event.
fn end_of_last_event(stream: &str) -> usize {
    let last = ["\"response.completed\",", "\"response.incomplete\","];
    let start = last.iter().find_map(|kind| stream.rfind(kind)).unwrap();
    start + stream[start..].find('\n').unwrap()
}
