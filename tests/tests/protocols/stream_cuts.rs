//! Streams that are split, cut or damaged at every byte, in process.
//!
//! The same properties hold for the recorded streams of all protocols. Each protocol has a row in [`all`].

use ai_services::fuzzing::{Summary, summary};
use ai_services::model::ModelStreamEvent;
use ai_services::{ErrorKind, Result};
use ai_services_tests::streams::{
    assert_damaged_anywhere_ends_once, assert_same_answer_split_anywhere,
};

/// The recorded streams of one protocol: one per server, version or kind of answer.
pub(crate) struct Dialects {
    pub(crate) protocol: &'static str,
    /// Name and content of each stream.
    pub(crate) streams: &'static [(&'static str, &'static str)],
    /// Reads a stream that arrives in these pieces.
    pub(crate) read: fn(Vec<Vec<u8>>) -> Vec<Result<ModelStreamEvent>>,
    /// Returns the answer in the stream with this name.
    pub(crate) expected: fn(&str) -> Summary,
    /// Returns the end of the last event of a stream with content. At most an end mark follows.
    pub(crate) end: fn(&str) -> usize,
    pub(crate) tool_calls: ToolCalls,
    /// Returns data after the end of a stream that is not read. `None` if the stream has no end mark.
    pub(crate) ignored_after_end: fn(&str) -> Option<&'static str>,
}

/// The form of tool calls in a stream.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum ToolCalls {
    /// The arguments arrive in pieces.
    InPieces,
    /// Each call is one event.
    #[cfg_attr(
        not(any(feature = "gemini", feature = "ollama")),
        allow(dead_code, reason = "a form of these protocols")
    )]
    Whole,
}

/// All protocols that are enabled.
fn all() -> Vec<Dialects> {
    vec![
        crate::openai::DIALECTS,
        crate::openai_responses::DIALECTS,
        #[cfg(feature = "anthropic")]
        crate::anthropic::DIALECTS,
        #[cfg(feature = "gemini")]
        crate::gemini::DIALECTS,
        #[cfg(feature = "ollama")]
        crate::ollama::DIALECTS,
    ]
}

/// Calls `check` with each stream, the expected answer, and the names of protocol and stream. Each stream has a
/// thread, because some checks read a stream once for every byte.
fn for_each_stream(check: impl Fn(&Dialects, &str, &Summary, &str) + Sync) {
    let (all, check) = (all(), &check);
    std::thread::scope(|scope| {
        for dialects in &all {
            assert!(dialects.streams.len() >= 4, "{}", dialects.protocol);
            for (name, stream) in dialects.streams {
                let context = format!("{} {name}", dialects.protocol);
                scope.spawn(move || {
                    check(dialects, stream, &(dialects.expected)(name), &context);
                });
            }
        }
    });
}

impl Dialects {
    fn summary_of(&self, stream: impl Into<Vec<u8>>) -> Summary {
        summary(&(self.read)(vec![stream.into()]))
    }
}

#[test]
fn every_dialect_is_read() {
    for_each_stream(|dialects, stream, expected, context| {
        assert_eq!(dialects.summary_of(stream), *expected, "{context}");
    });
}

#[test]
fn stream_split_anywhere_gives_the_same_answer() {
    for_each_stream(|dialects, stream, expected, _| {
        assert_same_answer_split_anywhere(stream, expected, dialects.read);
    });
}

#[test]
fn stream_cut_anywhere_is_an_error_with_its_beginning() {
    for_each_stream(|dialects, stream, whole, context| {
        let end = (dialects.end)(stream);
        for cut in 0..=stream.len() {
            let part = dialects.summary_of(&stream.as_bytes()[..cut]);
            let context = format!("{context} at {cut}");
            if part.error.is_none() {
                assert!(cut >= end, "{context}");
                assert_eq!(part, *whole, "{context}");
                continue;
            }
            // After the end, only a part of the end mark is an error.
            assert!(cut < end || (cut > end && cut < stream.trim_end().len()), "{context}");
            let error = (ErrorKind::InvalidResponse, "the answer was cut off".to_owned());
            assert_eq!(part.error, Some(error), "{context}");
            assert!(whole.text.starts_with(&part.text), "{context}");
            assert!(whole.thinking.starts_with(&part.thinking), "{context}");
            match dialects.tool_calls {
                ToolCalls::Whole => assert!(whole.calls.starts_with(&part.calls), "{context}"),
                ToolCalls::InPieces => assert_calls_begin(&whole.calls, &part.calls, &context),
            }
        }
    });
}

/// Asserts that the calls of a cut stream are the first ones, each with the beginning of its arguments.
fn assert_calls_begin(
    whole: &[(String, String, String)],
    part: &[(String, String, String)],
    context: &str,
) {
    assert!(part.len() <= whole.len(), "{context}");
    for (whole, part) in whole.iter().zip(part) {
        assert_eq!((&part.0, &part.1), (&whole.0, &whole.1), "{context}");
        assert!(whole.2.starts_with(&part.2), "{context}");
    }
}

#[test]
fn stream_damaged_anywhere_is_an_error_or_an_answer() {
    for_each_stream(|dialects, stream, _, _| {
        assert_damaged_anywhere_ends_once(stream, dialects.read);
    });
}

#[test]
fn data_after_the_end_is_ignored() {
    for_each_stream(|dialects, stream, expected, context| {
        if let Some(error) = (dialects.ignored_after_end)(stream) {
            let more = [stream, error, stream].concat();
            assert_eq!(dialects.summary_of(more), *expected, "{context}");
        }
    });
}
