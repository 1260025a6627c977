//! Properties of the streams of all protocols, checked in process.
#![allow(clippy::indexing_slicing, reason = "tests panic on failure")]

use ai_services::Result;
use ai_services::fuzzing::{Summary, summary};
use ai_services::model::ModelStreamEvent;

/// Asserts that the answer is the same if the stream arrives in two pieces, split anywhere, or byte by byte.
pub fn assert_same_answer_split_anywhere(
    stream: &str,
    expected: &Summary,
    read: impl Fn(Vec<Vec<u8>>) -> Vec<Result<ModelStreamEvent>>,
) {
    let bytes = stream.as_bytes();
    for at in 0..=bytes.len() {
        let (begin, end) = bytes.split_at(at);
        let answer = summary(&read(vec![begin.to_vec(), end.to_vec()]));
        assert_eq!(answer, *expected, "split at {at}: {stream}");
    }
    let answer = summary(&read(bytes.iter().map(|byte| vec![*byte]).collect()));
    assert_eq!(answer, *expected, "byte by byte: {stream}");
}

/// Asserts that a stream with any byte replaced ends once, in an answer or an error that equals the pieces
/// before it.
pub fn assert_damaged_anywhere_ends_once(
    stream: &str,
    read: impl Fn(Vec<Vec<u8>>) -> Vec<Result<ModelStreamEvent>>,
) {
    for at in 0..stream.len() {
        let mut bytes = stream.as_bytes().to_vec();
        let own = bytes[at];
        for damage in [b'\0', b'\n', b'"', b'}', b'[', b'9', 0xff, own ^ 0x15] {
            bytes[at] = damage;
            let events = read(vec![bytes.clone()]);
            // Asserts that the pieces add up to the answer or the error.
            summary(&events);
            let is_end = |event: &&_| matches!(event, Err(_) | Ok(ModelStreamEvent::Completed(_)));
            let ends = events.iter().filter(is_end).count();
            assert_eq!(ends, 1, "{damage} at {at}: {stream}");
        }
    }
}
