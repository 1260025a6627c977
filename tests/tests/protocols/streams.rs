//! Streams that are cut, split or damaged at every byte, and errors between any two events.

use super::start;
use ai_services::ErrorKind;
use ai_services::fuzzing::Summary;
use ai_services::model::{ModelStreamEvent, PartialAnswer};
use ai_services_tests::PATIENCE;
use ai_services_tests::fault_server::Step::{Hang, Request, Send};
use ai_services_tests::fault_server::{FaultServer, once, until_close};
use ai_services_tests::protocols::{self, Protocol};
use ai_services_tests::protocols::{Exchange, Mode, assert_begins, content_of, exchanges};
use tokio::time::timeout;

fn streams() -> impl Iterator<Item = Exchange> {
    exchanges().filter(|exchange| exchange.mode == Mode::Stream)
}

/// Summary of the answer in these pieces, with its error.
fn read(protocol: &Protocol, pieces: Vec<Vec<u8>>) -> (Summary, Option<ai_services::Error>) {
    let mut events = (protocol.read)(pieces);
    let said = content_of(&events);
    (said, events.pop().and_then(Result::err))
}

/// Ends of the events of a stream.
fn ends(protocol: &Protocol, stream: &str) -> Vec<usize> {
    let end = if protocol.stream_type == "text/event-stream" { "\n\n" } else { "\n" };
    stream.match_indices(end).map(|(at, _)| at + end.len()).collect()
}

#[test]
fn stream_split_anywhere_gives_the_same_answer() {
    for protocol in protocols::all() {
        let stream = (protocol.stream)();
        let (whole, error) = read(&protocol, vec![stream.clone().into()]);
        assert!(error.is_none(), "{protocol:?}: {error:?}");
        for at in 0..=stream.len() {
            let (a, b) = stream.as_bytes().split_at(at);
            let (split, error) = read(&protocol, vec![a.to_vec(), b.to_vec()]);
            assert_eq!((split, error.is_none()), (whole.clone(), true), "{protocol:?} at {at}");
        }
        for size in [1, 2, 3, 7] {
            let pieces = stream.as_bytes().chunks(size).map(<[u8]>::to_vec).collect();
            assert_eq!(read(&protocol, pieces).0, whole, "{protocol:?} by {size}");
        }
    }
}

#[test]
fn stream_with_other_line_ends_gives_the_same_answer() {
    for protocol in protocols::all() {
        let stream = (protocol.stream)();
        let whole = read(&protocol, vec![stream.clone().into()]).0;
        let crlf = stream.replace('\n', "\r\n");
        assert_eq!(read(&protocol, vec![crlf.into()]).0, whole, "{protocol:?}");
    }
}

#[test]
fn stream_cut_anywhere_is_whole_or_an_error_with_the_partial_answer() {
    for protocol in protocols::all() {
        let stream = (protocol.stream)();
        let whole = read(&protocol, vec![stream.clone().into()]).0;
        let ends = ends(&protocol, &stream);
        let last_content = ends[ends.len() - 3];
        let mut texts = 0;
        for cut in 0..=stream.len() {
            let context = format!("{protocol:?} at {cut} of {}", stream.len());
            let (part, error) = read(&protocol, vec![stream.as_bytes()[..cut].to_vec()]);
            let Some(error) = error else {
                // At most an end mark without content is missing.
                assert!(cut > last_content, "{context}");
                assert_eq!(part, whole, "{context}");
                continue;
            };
            let what = (error.kind(), error.to_string());
            assert_eq!(what, (ErrorKind::InvalidResponse, "the answer was cut off".into()));
            assert!(cut < stream.trim_end().len(), "{context}");
            assert_begins(&whole, &part, &context);
            assert!(error.detail::<PartialAnswer>().is_some(), "{context}");
            texts = texts.max(part.text.len());
        }
        assert_eq!(texts, whole.text.len(), "{protocol:?}");
    }
}

#[test]
fn stream_without_any_event_is_consistent() {
    for protocol in protocols::all() {
        let stream = (protocol.stream)();
        let whole = read(&protocol, vec![stream.clone().into()]).0;
        let ends = ends(&protocol, &stream);
        let begins = [0].into_iter().chain(ends.iter().copied());
        for (begin, end) in begins.zip(&ends) {
            let without = [&stream[..begin], &stream[*end..]].concat();
            // Asserts that the pieces add up to the answer or the error.
            let (said, error) = read(&protocol, vec![without.into()]);
            if *end == stream.len() && error.is_none() {
                assert_eq!(said, whole, "{protocol:?}: no end mark");
            }
        }
    }
}

#[test]
fn stream_damaged_anywhere_is_consistent() {
    for protocol in protocols::all() {
        let stream = (protocol.stream)();
        for at in 0..stream.len() {
            for damage in [b'\0', b'\n', b'"', b'}', 0xff, b'9'] {
                let mut bytes = stream.clone().into_bytes();
                bytes[at] = damage;
                let (said, _) = read(&protocol, vec![bytes]);
                assert!(!said.text.contains('\u{fffd}'), "{protocol:?} at {at}: {said:?}");
            }
        }
    }
}

#[test]
fn error_between_any_two_events_keeps_the_partial_answer() {
    for protocol in protocols::all() {
        let stream = (protocol.stream)();
        let whole = read(&protocol, vec![stream.clone().into()]).0;
        let ends = ends(&protocol, &stream);
        let mut kinds = Vec::new();
        for end in [0].iter().chain(&ends[..ends.len() - 1]) {
            let (before, after) = stream.split_at(*end);
            let had_come = read(&protocol, vec![before.into()]).0;
            let failing = [before, &(protocol.stream_error)(), after].concat();
            let (said, error) = read(&protocol, vec![failing.into()]);
            let context = format!("{protocol:?} at {end}");
            let error = error.unwrap_or_else(|| unreachable!("{context}: {said:?}"));
            assert_eq!(said, had_come, "{context}");
            assert_begins(&whole, &said, &context);
            assert!(error.to_string().ends_with(": broken"), "{context}: {error}");
            assert!(error.detail::<PartialAnswer>().is_some(), "{context}: {error}");
            kinds.push(error.kind());
        }
        let expected = [ErrorKind::Unavailable, ErrorKind::InvalidResponse];
        assert!(expected.contains(&kinds[0]), "{protocol:?}: {kinds:?}");
        assert!(kinds.iter().all(|kind| *kind == kinds[0]), "{protocol:?}: {kinds:?}");
    }
}

#[test]
fn data_after_the_end_is_ignored() {
    for protocol in protocols::all().iter().filter(|protocol| !ends_with_body(protocol)) {
        let stream = (protocol.stream)();
        let whole = read(protocol, vec![stream.clone().into()]).0;
        let more = [&*stream, &(protocol.stream_error)(), &stream].concat();
        assert_eq!(read(protocol, vec![more.into()]).0, whole, "{protocol:?}");
    }
}

/// Returns `true` if the answer ends only with the body: then an error
/// after the last event is reported.
fn ends_with_body(protocol: &Protocol) -> bool {
    let more = [(protocol.stream)(), (protocol.stream_error)()].concat();
    (protocol.read)(vec![more.into()]).last().is_some_and(Result::is_err)
}

#[tokio::test]
async fn error_in_the_middle_ends_the_stream_and_the_connection() {
    for exchange in streams() {
        let stream = exchange.body();
        let ends = ends(&exchange.protocol, &stream);
        let before = &stream[..ends[ends.len() / 2]];
        let failing = [before, &(exchange.protocol.stream_error)()].concat();
        let bytes = until_close("1.1", exchange.content_type(), failing);
        let server = start([vec![Request, Send(bytes), Hang]]).await;
        let model = exchange.client_with(&server, |client| client.max_retries = 2);
        let outcome = exchange.ask(&*model).await;
        assert!(!outcome.content.text.is_empty(), "{exchange:?}");
        let error = outcome.unwrap_err();
        assert!(error.to_string().ends_with(": broken"), "{exchange:?}: {error}");
        assert_eq!((error.status(), error.attempts()), (Some(200), Some(1)), "{exchange:?}");
        timeout(PATIENCE, server.hung_up(1)).await.unwrap();
        // The request is not repeated, because its tokens may have been charged.
        assert_eq!(server.requests().len(), 1, "{exchange:?}");
    }
}

#[tokio::test]
async fn streamed_answer_equals_the_whole_one() {
    for exchange in streams() {
        let whole = Exchange { mode: Mode::Whole, ..exchange };
        let streamed = exchange.ask_once(exchange.answer()).await.end.unwrap();
        let whole = whole.ask_once(whole.answer()).await.end.unwrap();
        assert_eq!(streamed.message, whole.message, "{exchange:?}");
        assert_eq!(streamed.usage, whole.usage, "{exchange:?}");
        assert_eq!(streamed.finish_reason, whole.finish_reason, "{exchange:?}");
    }
}

#[tokio::test]
async fn text_is_delivered_in_the_pieces_of_the_server() {
    for exchange in streams() {
        let events = (exchange.protocol.read)(vec![exchange.body().into()]);
        let is_text = |event: &&_| matches!(event, Ok(ModelStreamEvent::Text(_)));
        assert!(events.iter().filter(is_text).count() > 1, "{exchange:?}: {events:?}");
        let is_empty =
            |event: &_| matches!(event, Ok(ModelStreamEvent::Text(text)) if text.is_empty());
        assert!(!events.iter().any(is_empty), "{exchange:?}: {events:?}");
    }
}

#[tokio::test]
async fn nothing_is_sent_before_the_first_poll() {
    for exchange in streams() {
        let server = FaultServer::answering([once(200, &[], "")]).await.unwrap();
        let model = exchange.client(&server);
        drop(model.stream(&protocols::hello()));
        tokio::task::yield_now().await;
        assert_eq!(server.connections(), 0, "{exchange:?}");
    }
}
