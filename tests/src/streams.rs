//! What holds for a stream of every protocol, checked in process.
#![allow(clippy::indexing_slicing, reason = "a panic is how a test fails")]

use ai_services::Result;
use ai_services::fuzzing::{Summary, summary};
use ai_services::model::ModelStreamEvent;

/// A stream says the same when it comes in two pieces, split anywhere, and byte by byte.
pub fn assert_says_the_same_split_anywhere(
    stream: &str,
    expected: &Summary,
    read: impl Fn(Vec<Vec<u8>>) -> Vec<Result<ModelStreamEvent>>,
) {
    let bytes = stream.as_bytes();
    for at in 0..=bytes.len() {
        let (begin, end) = bytes.split_at(at);
        let said = summary(&read(vec![begin.to_vec(), end.to_vec()]));
        assert_eq!(said, *expected, "split at {at}: {stream}");
    }
    let said = summary(&read(bytes.iter().map(|byte| vec![*byte]).collect()));
    assert_eq!(said, *expected, "byte by byte: {stream}");
}

/// A stream with any byte replaced ends once, in an answer or an error that consists of the pieces
/// that were told.
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
            // Checks that the pieces are what the answer, or the error, consists of.
            summary(&events);
            let is_end = |event: &&_| matches!(event, Err(_) | Ok(ModelStreamEvent::Completed(_)));
            let ends = events.iter().filter(is_end).count();
            assert_eq!(ends, 1, "{damage} at {at}: {stream}");
        }
    }
}
