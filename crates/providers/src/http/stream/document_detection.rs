//! Detection of answers that are one document instead of a stream of events.

use super::{Events, Framing, Streamed};
use crate::http::body::{self, BodyError};
use crate::http::{Answer, AttemptTimeout};
use ai_services_core::Error;
use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use reqwest::Response;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Returns the events of an answer, or the document that the server sent instead.
///
/// A server that does not stream sends its whole answer, a failed server sends an error, and a proxy sends
/// a page: these are documents. Some servers send events with another content type, so the beginning of
/// the body decides unless the content type is that of events.
pub(in crate::http) async fn open(
    mut response: Response,
    answer: Answer,
    framing: Framing,
    timeout: AttemptTimeout,
) -> Result<Streamed, Error> {
    let limits = &answer.settings.limits;
    let fail = |error: BodyError| answer.annotate(error.into_error(limits, timeout));
    let mut first = Bytes::new();
    if framing == Framing::Lines || !answer.is_event_stream() {
        let limit = limits.stream_idle_timeout;
        let chunk = first_chunk(&mut response, limits.max_stream_bytes);
        first = match tokio::time::timeout(limit, chunk).await {
            Ok(read) => read.map_err(fail)?,
            Err(_) => return Err(fail(BodyError::Idle(limit))),
        };
        if is_document(&first, framing) {
            let read = body::read(&mut response, first, limits.max_response_bytes).await;
            return match read {
                Ok(body) => Ok(Streamed::Whole(answer.with_body(body))),
                Err(error) => Err(fail(error)),
            };
        }
    }
    let body = reqwest::Body::from(response);
    let body = if first.is_empty() {
        body
    } else {
        reqwest::Body::wrap(PrefetchedBody { first: Some(first), rest: body })
    };
    Ok(Streamed::Events(Box::new(Events::new(body, answer, framing, timeout))))
}

/// Returns the first chunk that is not only white space, or an empty chunk at the end of the body.
///
/// # Errors
///
/// [`BodyError::TooLarge`] after more than `max` bytes of white space, and [`BodyError::Connection`] if the
/// connection fails.
async fn first_chunk(response: &mut Response, max: usize) -> Result<Bytes, BodyError> {
    let mut left = max;
    while let Some(chunk) = response.chunk().await.map_err(BodyError::Connection)? {
        if !chunk.trim_ascii_start().is_empty() {
            return Ok(chunk);
        }
        left = left.checked_sub(chunk.len()).ok_or(BodyError::TooLarge(max))?;
    }
    Ok(Bytes::new())
}

/// Returns `true` if a body that begins with `first` is a document.
///
/// No line of an event begins like JSON or HTML, and every JSON line is an object. An empty body is a
/// document.
fn is_document(first: &[u8], framing: Framing) -> bool {
    let first = first.trim_ascii_start().first();
    match framing {
        Framing::Events => matches!(first, None | Some(b'{' | b'[' | b'<')),
        Framing::Lines => first != Some(&b'{'),
    }
}

/// A body whose first chunk was already read.
struct PrefetchedBody {
    first: Option<Bytes>,
    rest: reqwest::Body,
}

impl Body for PrefetchedBody {
    type Data = Bytes;
    type Error = reqwest::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, reqwest::Error>>> {
        match self.first.take() {
            Some(first) => Poll::Ready(Some(Ok(Frame::data(first)))),
            None => Pin::new(&mut self.rest).poll_frame(context),
        }
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}
