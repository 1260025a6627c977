//! Streams whose bytes are there already, for tests and fuzzing.

use super::{Event, Events};
use crate::error::Error;
use crate::http::{Answer, Ends, Limits};
use bytes::Bytes;
use futures_util::FutureExt;
use hyper::body::{Body, Frame};
use reqwest::Response;
use reqwest::header::HeaderMap;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::LazyLock;
use std::task::{Context, Poll};

static LIMITS: LazyLock<Limits> = LazyLock::new(Limits::default);
static SECRETS: LazyLock<HeaderMap> = LazyLock::new(HeaderMap::new);

/// The events in these pieces of a body.
pub(crate) fn events(pieces: impl IntoIterator<Item = Vec<u8>>) -> Events<'static> {
    let pieces = pieces.into_iter().map(Bytes::from).filter(|piece| !piece.is_empty());
    events_of(reqwest::Body::wrap(Given(pieces.collect())), &LIMITS)
}

/// The events in this body, under these limits.
pub(super) fn events_of(body: reqwest::Body, limits: &Limits) -> Events<'_> {
    let answer = Answer::of(&Response::from(hyper::http::Response::new("")), 1);
    let ends = Ends { timeout: limits.timeout, is_deadline: false };
    Events::new(body, answer, limits, &SECRETS, ends)
}

/// All events in these pieces, up to the first error.
pub(crate) fn read(pieces: impl IntoIterator<Item = Vec<u8>>) -> Vec<Result<Event, Error>> {
    let mut events = events(pieces);
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
