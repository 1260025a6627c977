//! Streams that are cut, split or damaged at every byte, in process.

use ai_services::ErrorKind;
use ai_services::fuzzing::{Summary, ollama_events, summary};
use ai_services::model::{FinishReason, ModelStreamEvent, TokenUsage};
use ai_services_tests::streams::{
    assert_damaged_anywhere_ends_once, assert_says_the_same_split_anywhere,
};

/// What servers of several versions send.
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

/// What each of them says.
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
fn every_version_is_read() {
    for (name, stream) in STREAMS {
        assert_eq!(of([stream.into()]), expected(name), "{name}");
    }
}

#[test]
fn stream_split_anywhere_says_the_same() {
    for (name, stream) in STREAMS {
        assert_says_the_same_split_anywhere(stream, &expected(name), ollama_events);
    }
}

#[test]
fn stream_cut_anywhere_is_whole_or_an_error_with_what_had_come() {
    for (name, stream) in STREAMS {
        let whole = expected(name);
        // What follows this is only the end of a line.
        let done = stream.trim_end().len();
        for cut in 0..=stream.len() {
            let part = of([stream.as_bytes()[..cut].to_vec()]);
            if cut >= done {
                assert_eq!(part, whole, "{name} at {cut}");
                continue;
            }
            let error = (ErrorKind::InvalidResponse, "the answer was cut off".to_owned());
            assert_eq!(part.error, Some(error), "{name} at {cut}");
            assert!(whole.text.starts_with(&part.text), "{name} at {cut}");
            assert!(whole.thinking.starts_with(&part.thinking), "{name} at {cut}");
            assert!(whole.calls.starts_with(&part.calls), "{name} at {cut}");
        }
    }
}

#[test]
fn stream_damaged_anywhere_is_an_error_or_an_answer() {
    for (_, stream) in STREAMS {
        assert_damaged_anywhere_ends_once(stream, ollama_events);
    }
}

#[test]
fn what_follows_the_end_is_ignored() {
    for (name, stream) in STREAMS {
        let more = [stream, "{\"error\":\"x\"}\n", stream].concat();
        assert_eq!(of([more.into_bytes()]), expected(name), "{name}");
    }
}

#[test]
fn error_in_the_middle_keeps_what_had_come() {
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
fn more_calls_than_any_answer_has_are_an_error() {
    let call = r#"{"function":{"name":"f","arguments":{}}}"#;
    let calls = |count: usize| vec![call; count].join(",");
    let line = |count| format!("{{\"message\":{{\"tool_calls\":[{}]}}}}\n", calls(count));
    let end = "{\"done\":true}\n";
    assert_eq!(of([(line(128) + end).into_bytes()]).calls.len(), 128);
    let part = of([(line(100) + &line(29) + end).into_bytes()]);
    let (kind, message) = part.error.unwrap();
    assert_eq!((kind, part.calls.len()), (ErrorKind::InvalidResponse, 128));
    assert!(message.contains("more tool calls"), "{message}");
}

#[test]
fn answer_that_calls_tools_says_so() {
    let (_, tools) = STREAMS[2];
    let Some(Ok(ModelStreamEvent::Completed(response))) = ollama_events([tools.into()]).pop()
    else {
        unreachable!()
    };
    assert_eq!(response.finish_reason, Some(FinishReason::ToolExecution));
    assert_eq!(response.model.as_deref(), Some("qwen3:4b"));
}
