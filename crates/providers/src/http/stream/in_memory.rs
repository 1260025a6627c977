//! Streams whose bytes are there already, for tests and fuzzing.

use super::{Event, Events, Framing};
use crate::http::{Answer, Ends, Limits, Settings};
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

/// The events in these pieces of a body.
pub(crate) fn events(pieces: impl IntoIterator<Item = Vec<u8>>, framing: Framing) -> Events {
    let pieces = pieces.into_iter().map(Bytes::from).filter(|piece| !piece.is_empty());
    events_of(reqwest::Body::wrap(Given(pieces.collect())), &Limits::default(), framing)
}

/// The events in this body, under these limits.
pub(super) fn events_of(body: reqwest::Body, limits: &Limits, framing: Framing) -> Events {
    let settings = Arc::new(Settings { headers: HeaderMap::new(), limits: limits.clone() });
    let answer = Answer::of(&Response::from(hyper::http::Response::new("")), 1, settings);
    let ends = Ends { timeout: limits.timeout, is_deadline: false };
    Events::new(body, answer, framing, ends)
}

/// All events in these pieces, up to the first error.
pub(crate) fn read(
    pieces: impl IntoIterator<Item = Vec<u8>>,
    framing: Framing,
) -> Vec<Result<Event, Error>> {
    let mut events = events(pieces, framing);
    let mut read = Vec::new();
    // What is given is always ready.
    while let Some(Some(event)) = poll_fn(|context| events.poll_next(context)).now_or_never() {
        read.push(event);
    }
    read
}

struct Given(VecDeque<Bytes>);

impl Body for Given {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.pop_front().map(|piece| Ok(Frame::data(piece))))
    }
}
