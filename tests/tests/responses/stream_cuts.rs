//! Streams that are cut, split or damaged at every byte, in process.

use ai_services::ErrorKind;
use ai_services::fuzzing::{Summary, responses_events, summary};
use ai_services::model::TokenUsage;
use ai_services_tests::streams::{
    assert_damaged_anywhere_ends_once, assert_says_the_same_split_anywhere,
};

/// What servers of several makes send.
const STREAMS: [(&str, &str); 5] = [
    ("openai", include_str!("streams/openai.sse")),
    ("openai_tools", include_str!("streams/openai_tools.sse")),
    ("llama", include_str!("streams/llama.sse")),
    ("search", include_str!("streams/search.sse")),
    ("incomplete", include_str!("streams/incomplete.sse")),
];

fn of(pieces: impl IntoIterator<Item = Vec<u8>>) -> Summary {
    summary(&responses_events(pieces))
}

fn call(id: &str, name: &str, arguments: &str) -> (String, String, String) {
    (id.into(), name.into(), arguments.into())
}

/// What each of them says.
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

/// Where the data of the last event ends.
fn end(stream: &str) -> usize {
    let last = ["\"response.completed\",", "\"response.incomplete\","];
    let start = last.iter().find_map(|kind| stream.rfind(kind)).unwrap();
    start + stream[start..].find('\n').unwrap()
}

#[test]
fn every_dialect_is_read() {
    for (name, stream) in STREAMS {
        assert_eq!(of([stream.into()]), expected(name), "{name}");
    }
}

#[test]
fn stream_split_anywhere_says_the_same() {
    for (name, stream) in STREAMS {
        assert_says_the_same_split_anywhere(stream, &expected(name), responses_events);
    }
}

#[test]
fn stream_cut_anywhere_is_whole_or_an_error_with_what_had_come() {
    for (name, stream) in STREAMS {
        let whole = expected(name);
        // What follows this is only the end of a line.
        let end = end(stream);
        for cut in 0..=stream.len() {
            let part = of([stream.as_bytes()[..cut].to_vec()]);
            if cut >= end {
                assert_eq!(part, whole, "{name} at {cut}");
                continue;
            }
            let error = (ErrorKind::InvalidResponse, "the answer was cut off".to_owned());
            assert_eq!(part.error, Some(error), "{name} at {cut}");
            assert!(whole.text.starts_with(&part.text), "{name} at {cut}");
            assert!(whole.thinking.starts_with(&part.thinking), "{name} at {cut}");
            for (whole, part) in whole.calls.iter().zip(&part.calls) {
                assert!(whole.2.starts_with(&part.2), "{name} at {cut}");
            }
        }
    }
}

#[test]
fn stream_damaged_anywhere_is_an_error_or_an_answer() {
    for (_, stream) in STREAMS {
        assert_damaged_anywhere_ends_once(stream, responses_events);
    }
}

#[test]
fn what_follows_the_end_is_ignored() {
    for (name, stream) in STREAMS {
        let more = [stream, "data: {\"error\":\"x\"}\n\n", stream].concat();
        assert_eq!(of([more.into_bytes()]), expected(name), "{name}");
    }
}
