//! Streams of bytes in memory, for tests and fuzzing.

use super::{Events, Framing};
use crate::http::{Answer, AttemptTimeout, Limits, Settings};
use ai_services_core::Error;
use bytes::Bytes;
use futures_util::FutureExt;
use hyper::body::{Body, Frame};
use reqwest::Response;
use reqwest::header::HeaderMap;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Returns the events of a body in these chunks, under the default limits.
pub(crate) fn events(chunks: impl IntoIterator<Item = Vec<u8>>, framing: Framing) -> Events {
    let chunks = chunks.into_iter().map(Bytes::from).filter(|chunk| !chunk.is_empty());
    events_of(reqwest::Body::wrap(InMemoryBody(chunks.collect())), &Limits::default(), framing)
}

/// Returns the events of a body under these limits.
pub(super) fn events_of(body: reqwest::Body, limits: &Limits, framing: Framing) -> Events {
    let settings = Arc::new(Settings { headers: HeaderMap::new(), limits: limits.clone() });
    let mut response = Response::from(hyper::http::Response::new(""));
    let answer = Answer::of(&mut response, 1, settings);
    let timeout = AttemptTimeout { duration: limits.timeout, is_deadline: false };
    Events::new(body, answer, framing, timeout)
}

/// The data of an event, and whether its type is `error`.
type OwnedEvent = (String, bool);

/// Returns all events of a body in these chunks, up to and including the first error.
pub(crate) fn read(
    chunks: impl IntoIterator<Item = Vec<u8>>,
    framing: Framing,
) -> Vec<Result<OwnedEvent, Error>> {
    let mut events = events(chunks, framing);
    let mut read = Vec::new();
    // A body in memory is always ready.
    while let Some(Some(result)) = poll_fn(|context| events.poll_next(context)).now_or_never() {
        let event = events.event();
        read.push(result.map(|()| (event.data.to_owned(), event.is_error)));
    }
    read
}

/// A body of these chunks.
struct InMemoryBody(VecDeque<Bytes>);

impl Body for InMemoryBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.pop_front().map(|chunk| Ok(Frame::data(chunk))))
    }
}
