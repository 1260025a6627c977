//! Streams that are cut, split or damaged at every byte, in process.

use crate::stream_cuts::{Dialects, ToolCalls};
use ai_services::fuzzing::{Summary, chat_events};
use ai_services::model::{ModelStreamEvent, TokenUsage};

/// The row of this protocol in the table of [`stream_cuts`](crate::stream_cuts).
pub(crate) const DIALECTS: Dialects = Dialects {
    protocol: "openai",
    streams: &STREAMS,
    read: |pieces| chat_events(pieces),
    expected,
    end,
    tool_calls: ToolCalls::InPieces,
    ignored_after_end: |stream| stream.contains("[DONE]").then_some("data: {\"error\":\"x\"}\n\n"),
};

/// Recorded streams of several servers.
const STREAMS: [(&str, &str); 9] = [
    ("openai", include_str!("streams/openai.sse")),
    ("openai_tools", include_str!("streams/openai_tools.sse")),
    ("vllm", include_str!("streams/vllm.sse")),
    ("ollama", include_str!("streams/ollama.sse")),
    ("azure", include_str!("streams/azure.sse")),
    ("openrouter", include_str!("streams/openrouter.sse")),
    ("gemini", include_str!("streams/gemini.sse")),
    ("perplexity", include_str!("streams/perplexity.sse")),
    ("perplexity_concise", include_str!("streams/perplexity_concise.sse")),
];

/// Returns the end of the event with the final usage, or of the last event of a server without usage.
fn end(stream: &str) -> usize {
    let last = stream.rfind(r#""usage":"#).or(stream.find("[DONE]")).unwrap();
    stream[last..].find(['\r', '\n']).unwrap() + last
}

fn call(id: &str, name: &str, arguments: &str) -> (String, String, String) {
    (id.into(), name.into(), arguments.into())
}

/// Returns the answer in the stream with this name.
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
        "azure" => (expected.text, expected.usage) = ("Ja.".into(), details),
        _ => (expected.text, expected.usage) = ("Ja, é.".into(), usage(7, 4)),
    }
    expected
}

#[test]
fn provider_content_is_the_same_split_anywhere() {
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
fn partial_answer_is_not_in_debug_output() {
    let (_, stream) = STREAMS[0];
    let events = chat_events([stream.replace("[DONE]", "{").into_bytes()]);
    let error = events.into_iter().find_map(Result::err).unwrap();
    assert!(!format!("{error:?} {error}").contains("Grü"), "{error:?}");
    assert_eq!(error.usage().unwrap().input, Some(9));
}

#[test]
fn empty_pieces_give_no_events() {
    let (_, ollama) = STREAMS[3];
    let events = chat_events([ollama.into()]);
    assert!(
        !events.iter().any(|event| matches!(event, Ok(ModelStreamEvent::Text(_)))),
        "{events:?}"
    );
    assert_eq!(events.len(), 4);
}
