//! Streams that are cut, split or damaged at every byte, in process.

use ai_services::ErrorKind;
use ai_services::fuzzing::{Summary, anthropic_events, summary};
use ai_services::model::TokenUsage;
use ai_services_tests::streams::{
    assert_damaged_anywhere_ends_once, assert_says_the_same_split_anywhere,
};

pub(crate) const STREAMS: [(&str, &str); 5] = [
    ("text", include_str!("streams/text.sse")),
    ("tools", include_str!("streams/tools.sse")),
    ("thinking", include_str!("streams/thinking.sse")),
    ("search", include_str!("streams/search.sse")),
    ("compatible", include_str!("streams/compatible.sse")),
];

fn of(pieces: impl IntoIterator<Item = Vec<u8>>) -> Summary {
    summary(&anthropic_events(pieces))
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
fn every_dialect_is_read() {
    for (name, stream) in STREAMS {
        assert_eq!(of([stream.into()]), expected(name), "{name}");
    }
}

#[test]
fn protocol_of_the_fault_matrix_streams_what_it_says_whole() {
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

#[test]
fn stream_split_anywhere_says_the_same() {
    for (name, stream) in STREAMS {
        assert_says_the_same_split_anywhere(stream, &expected(name), anthropic_events);
    }
}

#[test]
fn stream_cut_anywhere_is_an_error_with_its_beginning() {
    for (name, stream) in STREAMS {
        let (bytes, whole) = (stream.as_bytes(), expected(name));
        // The event is there when its last line has ended.
        let end = stream.trim_end().len();
        for at in 0..end {
            let cut = of([bytes[..at].to_vec()]);
            let (kind, message) = cut.error.clone().unwrap_or_else(|| panic!("{name} cut at {at}"));
            assert_eq!(kind, ErrorKind::InvalidResponse, "{name} cut at {at}: {message}");
            assert!(message.contains("cut off"), "{name} cut at {at}: {message}");
            assert!(whole.text.starts_with(&cut.text), "{name} cut at {at}");
            assert!(whole.thinking.starts_with(&cut.thinking), "{name} cut at {at}");
            for (call, whole) in cut.calls.iter().zip(&whole.calls) {
                assert_eq!((&call.0, &call.1), (&whole.0, &whole.1));
                assert!(whole.2.starts_with(&call.2), "{name} cut at {at}");
            }
        }
    }
}

#[test]
fn stream_damaged_anywhere_is_an_error_or_an_answer() {
    for (_, stream) in STREAMS {
        assert_damaged_anywhere_ends_once(stream, anthropic_events);
    }
}
