use super::in_memory::{self, events_of};
use super::*;
use crate::http::Limits;
use bytes::Bytes;
use hyper::body::Frame;
use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};

/// A body that is sent through a channel while it is read.
struct ChannelBody(mpsc::Receiver<Bytes>);

impl hyper::body::Body for ChannelBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|chunk| chunk.map(|chunk| Ok(Frame::data(chunk))))
    }
}

fn channel_events(limits: &Limits) -> (mpsc::Sender<Bytes>, Events) {
    let (writer, reader) = mpsc::channel(1);
    (writer, events_of(Body::wrap(ChannelBody(reader)), limits, Framing::Events))
}

async fn next(events: &mut Events) -> Option<Result<String, Error>> {
    let result = poll_fn(|context| events.poll_next(context)).await?;
    Some(result.map(|()| events.event().data.to_owned()))
}

/// Returns the data of the JSON lines in a body, or the error that ends them.
fn lines(chunks: impl IntoIterator<Item = Vec<u8>>) -> Result<Vec<String>, Error> {
    let lines = in_memory::read(chunks, Framing::Lines).into_iter();
    lines.map(|line| line.map(|(line, _)| line.trim_end().to_owned())).collect()
}

/// Returns the data of the events in a body, or the error that ends them.
fn data(chunks: impl IntoIterator<Item = Vec<u8>>) -> Result<Vec<String>, Error> {
    let events = in_memory::read(chunks, Framing::Events).into_iter();
    events.map(|event| event.map(|(data, _)| data)).collect()
}

fn of(body: &str) -> Vec<String> {
    data([body.into()]).unwrap()
}

#[test]
fn events_are_found_with_every_line_ending() {
    for end in ["\n", "\r", "\r\n"] {
        let body =
            ["data: a", "data:b", "", "", "event: x", "data:  c ", "id: 7", "", ""].join(end);
        assert_eq!(of(&body), ["a\nb", " c "], "{end:?}");
    }
    assert_eq!(of("\u{feff}data: a\n\n\u{feff}data: b\n\n"), ["a"]);
}

#[test]
fn events_without_data_are_skipped() {
    assert_eq!(of(": ping\n\nretry: 5\n\nevent: ping\n\nid: 3\n\nfoo: bar\n\ndata: a\n\n"), ["a"]);
    assert_eq!(of("data:\n\ndata\n\n"), ["", ""]);
    assert!(of("").is_empty());
}

#[test]
fn last_event_needs_no_empty_line() {
    for end in ["", "\n", "\r", "\r\n", "\n\n"] {
        assert_eq!(of(&format!("data: a\n\ndata: [DONE]{end}")), ["a", "[DONE]"], "{end:?}");
    }
}

#[test]
fn error_event_is_marked() {
    let body = b"event: error\ndata: a\n\nevent: errors\ndata: b\n\n";
    let events = in_memory::read([body.to_vec()], Framing::Events);
    let marks = events.into_iter().map(|event| event.unwrap().1);
    assert!(marks.eq([true, false]));
}

#[test]
fn body_in_any_chunks_has_the_same_events() {
    let body =
        "\u{feff}: c\r\n\r\ndata: é\r\ndata: 😀\r\revent: error\ndata: x\n\ndata: y".as_bytes();
    let whole = data([body.to_vec()]).unwrap();
    assert_eq!(whole, ["é\n😀", "x", "y"]);
    for split in 0..=body.len() {
        let (a, b) = body.split_at(split);
        assert_eq!(data([a.to_vec(), b.to_vec()]).unwrap(), whole, "{split}");
    }
    assert_eq!(data(body.iter().map(|byte| vec![*byte])).unwrap(), whole);
}

#[test]
fn text_that_is_not_utf8_is_an_error() {
    let error = data([b"data: a\n\ndata: \xff\n\ndata: b\n\n".to_vec()]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidResponse);
    assert_eq!(error.to_string(), "the answer is not UTF-8");
    // Ids and comments are not read.
    assert_eq!(data([b"id: \xff\n: \xff\ndata: a\n\n".to_vec()]).unwrap(), ["a"]);
    // At the end of the body, the character counts as truncated.
    let error = data([b"data: \xc3".to_vec()]).unwrap_err();
    assert_eq!(error.to_string(), "the answer was cut off");
}

#[test]
fn event_above_4_mib_is_an_error() {
    let most = 4 << 20;
    let line = |len: usize| [b"data:".to_vec(), vec![b'x'; len - 7], b"\n\n".to_vec()].concat();
    assert_eq!(
        data([line(most), line(most)].concat().chunks(999).map(<[u8]>::to_vec)).unwrap().len(),
        2
    );
    let in_one_chunk = data([line(most)]).unwrap();
    assert_eq!(in_one_chunk.len(), 1);
    for chunks in [vec![line(most + 1)], line(most + 1).chunks(4096).map(<[u8]>::to_vec).collect()]
    {
        let error = data(chunks).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidResponse);
        assert_eq!(error.to_string(), "a part of the answer is larger than 4194304 bytes");
    }
    // Many short lines are one event.
    let lines = b"data: x\n".repeat(most / 8 + 1);
    assert_eq!(data([lines]).unwrap_err().kind(), ErrorKind::InvalidResponse);
}

#[test]
fn comments_between_events_have_no_limit() {
    let pings = b": ping\n\n".repeat((4 << 20) / 8 + 1);
    assert_eq!(data([pings, b"data: a\n\n".to_vec()]).unwrap(), ["a"]);
}

#[tokio::test]
async fn stream_above_its_limit_is_an_error() {
    let limits = Limits { max_stream_bytes: 18, ..Limits::default() };
    for (chunk, is_read) in [("data: b\n\n", true), ("data: bb\n\n", false)] {
        let (writer, mut events) = channel_events(&limits);
        writer.send("data: a\n\n".into()).await.unwrap();
        assert_eq!(next(&mut events).await.unwrap().unwrap(), "a");
        writer.send(chunk.into()).await.unwrap();
        drop(writer);
        let second = next(&mut events).await.unwrap();
        assert_eq!(second.is_ok(), is_read, "{second:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn idle_timeout_ends_a_stream() {
    let limits = Limits { stream_idle_timeout: Duration::from_secs(5), ..Limits::default() };
    let (writer, mut events) = channel_events(&limits);
    let begin = Instant::now();
    // Each chunk resets the timeout, even a comment.
    for _ in 0..3 {
        assert!(timeout(Duration::from_secs(4), next(&mut events)).await.is_err());
        writer.send(": ping\n\n".into()).await.unwrap();
        assert!(timeout(Duration::from_millis(1), next(&mut events)).await.is_err());
    }
    let error = next(&mut events).await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert_eq!(error.to_string(), "no data received for 5s");
    assert_eq!(begin.elapsed().as_secs(), 17);
    assert!(next(&mut events).await.is_none());
}

#[tokio::test(start_paused = true)]
async fn pause_of_the_reader_does_not_end_a_stream() {
    let limits = Limits { stream_idle_timeout: Duration::from_secs(5), ..Limits::default() };
    let (writer, mut events) = channel_events(&limits);
    assert!(timeout(Duration::from_secs(1), next(&mut events)).await.is_err());
    tokio::time::advance(Duration::from_secs(60)).await;
    // The event arrives only after the reader has polled once more.
    let (event, ()) = tokio::join!(next(&mut events), async {
        tokio::task::yield_now().await;
        writer.send("data: a\n\n".into()).await.unwrap();
    });
    assert_eq!(event.unwrap().unwrap(), "a");
}

#[tokio::test(start_paused = true)]
async fn idle_timeout_out_of_range_never_passes() {
    let limits = Limits { stream_idle_timeout: Duration::MAX, ..Limits::default() };
    let (_writer, mut events) = channel_events(&limits);
    assert!(timeout(Duration::from_secs(1 << 30), next(&mut events)).await.is_err());
}

#[test]
fn body_in_any_chunks_has_the_same_lines() {
    let body = "{\"a\":\"é\"}\n\r\n{\"b\":1}\r\n{\"c\":\"😀\"}".as_bytes();
    let whole = lines([body.to_vec()]).unwrap();
    assert_eq!(whole, [r#"{"a":"é"}"#, r#"{"b":1}"#, r#"{"c":"😀"}"#]);
    for split in 0..=body.len() {
        let (a, b) = body.split_at(split);
        assert_eq!(lines([a.to_vec(), b.to_vec()]).unwrap(), whole, "{split}");
    }
    assert_eq!(lines(body.iter().map(|byte| vec![*byte])).unwrap(), whole);
    assert!(lines([b" \n\n".to_vec()]).unwrap().is_empty());
}

#[test]
fn line_that_is_not_utf8_or_above_4_mib_is_an_error() {
    assert_eq!(lines([b"{\xff}\n".to_vec()]).unwrap_err().to_string(), "the answer is not UTF-8");
    assert_eq!(lines([b"{\xc3".to_vec()]).unwrap_err().to_string(), "the answer was cut off");
    let most = 4 << 20;
    let line = |len: usize| [vec![b'x'; len - 1], b"\n".to_vec()].concat();
    let twice = [line(most), line(most)].concat();
    assert_eq!(lines(twice.chunks(999).map(<[u8]>::to_vec)).unwrap().len(), 2);
    let error = lines(line(most + 1).chunks(4096).map(<[u8]>::to_vec)).unwrap_err();
    assert_eq!(error.to_string(), "a part of the answer is larger than 4194304 bytes");
}
