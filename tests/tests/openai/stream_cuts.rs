//! Streams that are cut, split or damaged at every byte, in process.

use ai_services::ErrorKind;
use ai_services::fuzzing::{Summary, chat_events, summary};
use ai_services::model::{ModelStreamEvent, TokenUsage};
use ai_services_tests::streams::{
    assert_damaged_anywhere_ends_once, assert_says_the_same_split_anywhere,
};

/// What servers of several makes send.
const STREAMS: [(&str, &str); 7] = [
    ("openai", include_str!("streams/openai.sse")),
    ("openai_tools", include_str!("streams/openai_tools.sse")),
    ("vllm", include_str!("streams/vllm.sse")),
    ("ollama", include_str!("streams/ollama.sse")),
    ("azure", include_str!("streams/azure.sse")),
    ("openrouter", include_str!("streams/openrouter.sse")),
    ("gemini", include_str!("streams/gemini.sse")),
];

fn of(pieces: impl IntoIterator<Item = Vec<u8>>) -> Summary {
    summary(&chat_events(pieces))
}

fn call(id: &str, name: &str, arguments: &str) -> (String, String, String) {
    (id.into(), name.into(), arguments.into())
}

/// What each of them says.
fn expected(name: &str) -> Summary {
    let mut expected = Summary::default();
    let usage = |input, output| TokenUsage::new(input, output).with_total(Some(input + output));
    let details = usage(9, 5).with_cached_input(Some(4)).with_reasoning(Some(0));
    match name {
        "openai" => (expected.text, expected.usage) = ("Grüße, \"日本\"\n😀!".into(), details),
        "openai_tools" => {
            let (a, b) = (r#"{"city":"Köln"}"#, r#"{"city":"Rio"}"#);
            expected.calls = vec![call("call_a", "weather", a), call("call_b", "weather", b)];
            expected.usage = details;
        }
        "vllm" => {
            (expected.text, expected.thinking) = ("It is 4.".into(), "Let me see…".into());
            expected.usage = usage(11, 4);
        }
        "ollama" => {
            expected.thinking = "Hm.".into();
            expected.calls =
                vec![call("call_1", "add", r#"{"a":1}"#), call("call_2", "add", r#"{"a":2}"#)];
        }
        "openrouter" => {
            expected.thinking = "Let me add…".into();
            expected.calls = vec![call("toolu_c", "add", r#"{"a":1,"b":3}"#)];
            expected.usage = usage(11, 4);
        }
        "gemini" => {
            expected.text = "Adding.".into();
            let (a, b) = (r#"{"a":1,"b":3}"#, r#"{"a":2,"b":3}"#);
            expected.calls = vec![call("f1", "add", a), call("f2", "add", b)];
            expected.usage = usage(11, 4);
        }
        _ => (expected.text, expected.usage) = ("Ja.".into(), details),
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
fn stream_split_anywhere_says_the_same() {
    for (name, stream) in STREAMS {
        assert_says_the_same_split_anywhere(stream, &expected(name), chat_events);
    }
}

#[test]
fn words_of_a_server_are_the_same_split_anywhere() {
    let message = |pieces: Vec<Vec<u8>>| {
        let Some(Ok(ModelStreamEvent::Completed(response))) = chat_events(pieces).pop() else {
            unreachable!("the stream is whole");
        };
        response.message
    };
    for (name, stream) in STREAMS {
        let whole = message(vec![stream.into()]);
        let has_words = matches!(name, "openrouter" | "gemini");
        assert_eq!(whole.provider_content().is_some(), has_words, "{name}");
        for at in 0..=stream.len() {
            let (begin, end) = stream.as_bytes().split_at(at);
            assert_eq!(message(vec![begin.to_vec(), end.to_vec()]), whole, "{name} split at {at}");
        }
    }
}

#[test]
fn stream_cut_anywhere_is_whole_or_an_error_with_what_had_come() {
    for (name, stream) in STREAMS {
        let whole = expected(name);
        // What follows this is only the end of a line.
        let done = stream.find("[DONE]").unwrap() + "[DONE]".len();
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
            for (whole, part) in whole.calls.iter().zip(&part.calls) {
                assert!(whole.2.starts_with(&part.2), "{name} at {cut}");
            }
        }
    }
}

#[test]
fn stream_damaged_anywhere_is_an_error_or_an_answer() {
    for (_, stream) in STREAMS {
        assert_damaged_anywhere_ends_once(stream, chat_events);
    }
}

#[test]
fn what_follows_the_end_is_ignored() {
    for (name, stream) in STREAMS {
        let more = [stream, "data: {\"error\":\"x\"}\n\n", stream].concat();
        assert_eq!(of([more.into_bytes()]), expected(name), "{name}");
    }
}

#[test]
fn partial_answer_shows_none_of_it() {
    let (_, stream) = STREAMS[0];
    let events = chat_events([stream.replace("[DONE]", "").into_bytes()]);
    let error = events.into_iter().find_map(Result::err).unwrap();
    assert!(!format!("{error:?} {error}").contains("Grü"), "{error:?}");
    assert_eq!(error.usage().unwrap().input, Some(9));
}

#[test]
fn empty_pieces_are_no_events() {
    let (_, ollama) = STREAMS[3];
    let events = chat_events([ollama.into()]);
    assert!(
        !events.iter().any(|event| matches!(event, Ok(ModelStreamEvent::Text(_)))),
        "{events:?}"
    );
    assert_eq!(events.len(), 4);
}
