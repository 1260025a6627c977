//! Streams that are cut, split or damaged at every byte, in process.

use crate::stream_cuts::{Dialects, ToolCalls};
use ai_services::ErrorKind;
use ai_services::fuzzing::{Summary, ollama_events, summary};
use ai_services::model::{FinishReason, ModelStreamEvent, TokenUsage};

/// The row of this protocol in the table of [`stream_cuts`](crate::stream_cuts).
pub(crate) const DIALECTS: Dialects = Dialects {
    protocol: "ollama",
    streams: &STREAMS,
    read: |pieces| ollama_events(pieces),
    expected,
    end: |stream| stream.trim_end().len(),
    tool_calls: ToolCalls::Whole,
    ignored_after_end: |_| Some("{\"error\":\"x\"}\n"),
};

/// Recorded streams of several versions.
const STREAMS: [(&str, &str); 4] = [
    ("text", include_str!("streams/text.jsonl")),
    ("thinking", include_str!("streams/thinking.jsonl")),
    ("tools", include_str!("streams/tools.jsonl")),
    ("old", include_str!("streams/old.jsonl")),
];

fn of(pieces: impl IntoIterator<Item = Vec<u8>>) -> Summary {
    summary(&ollama_events(pieces))
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
            expected.usage = TokenUsage::new(13, 9);
        }
        "thinking" => {
            expected.thinking = "Let me see…".into();
            expected.text = "It is 4.".into();
            expected.usage = TokenUsage::new(11, 14);
        }
        "tools" => {
            expected.thinking = "Both.".into();
            expected.calls = vec![
                call("call_p7o2gz50", "weather", r#"{"city":"Köln","days":2}"#),
                call("call_00000000_1", "weather", r#"{"city": "Rio"}"#),
            ];
            expected.usage = TokenUsage::new(160, 40);
        }
        _ => {
            expected.text = "Ja.".into();
            expected.usage.output = Some(3);
        }
    }
    expected
}

#[test]
fn error_in_the_middle_keeps_the_partial_answer() {
    let (_, text) = STREAMS[0];
    let (begin, _) = text.split_at(text.find('\n').unwrap() + 1);
    let stream = format!("{begin}{{\"error\":\"the model runner has stopped\"}}\n");
    let part = of([stream.into_bytes()]);
    assert_eq!(part.text, "Grü");
    let (kind, message) = part.error.unwrap();
    assert_eq!(kind, ErrorKind::InvalidResponse);
    assert!(message.ends_with("the model runner has stopped"), "{message}");
}

#[test]
fn too_many_calls_are_an_error() {
    let call = r#"{"function":{"name":"f","arguments":{}}}"#;
    let calls = |count: usize| vec![call; count].join(",");
    let line = |count| format!("{{\"message\":{{\"tool_calls\":[{}]}}}}\n", calls(count));
    let end = "{\"done\":true}\n";
    assert_eq!(of([(line(128) + end).into_bytes()]).calls.len(), 128);
    let part = of([(line(100) + &line(29) + end).into_bytes()]);
    let (kind, message) = part.error.unwrap();
    assert_eq!((kind, part.calls.len()), (ErrorKind::InvalidResponse, 128));
    assert!(message.contains("more than 128 tool calls"), "{message}");
}

#[test]
fn answer_with_tool_calls_has_the_finish_reason() {
    let (_, tools) = STREAMS[2];
    let Some(Ok(ModelStreamEvent::Completed(response))) = ollama_events([tools.into()]).pop()
    else {
        unreachable!()
    };
    assert_eq!(response.finish_reason, Some(FinishReason::ToolExecution));
    assert_eq!(response.model.as_deref(), Some("qwen3:4b"));
}
