//! Whether an answer is a stream of events or one document.

use super::{Events, Framing, Streamed};
use crate::http::body::{self, Broken};
use crate::http::{Answer, Ends};
use ai_services_core::Error;
use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use reqwest::Response;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Reads the beginning of an answer if its content type does not say what it is.
///
/// A server that does not stream sends its whole answer, one that fails sends an error, a proxy
/// sends a page: these are documents. Some servers send events without saying so.
pub(in crate::http) async fn open(
    mut response: Response,
    answer: Answer,
    framing: Framing,
    ends: Ends,
) -> Result<Streamed, Error> {
    let limits = &answer.settings.limits;
    let fail = |broken: Broken| answer.annotate(broken.into_error(limits, ends));
    let mut first = Bytes::new();
    if framing == Framing::Lines || !answer.is_event_stream() {
        let limit = limits.stream_idle_timeout;
        let begins = beginning(&mut response, limits.max_stream_bytes);
        first = match tokio::time::timeout(limit, begins).await {
            Ok(read) => read.map_err(fail)?,
            Err(_) => return Err(fail(Broken::Silent(limit))),
        };
        if is_document(&first, framing) {
            let read = body::read(&mut response, first, limits.max_response_bytes).await;
            return match read {
                Ok(body) => Ok(Streamed::Whole(answer.with_body(body))),
                Err(broken) => Err(fail(broken)),
            };
        }
    }
    let body = reqwest::Body::from(response);
    let body = if first.is_empty() {
        body
    } else {
        reqwest::Body::wrap(Begun { first: Some(first), rest: body })
    };
    Ok(Streamed::Events(Box::new(Events::new(body, answer, framing, ends))))
}

/// The first bytes that are not all white; empty if there are none. At most `max` may be.
async fn beginning(response: &mut Response, max: usize) -> Result<Bytes, Broken> {
    let mut left = max;
    while let Some(piece) = response.chunk().await.map_err(Broken::Connection)? {
        if !piece.trim_ascii_start().is_empty() {
            return Ok(piece);
        }
        left = left.checked_sub(piece.len()).ok_or(Broken::TooLarge(max))?;
    }
    Ok(Bytes::new())
}

/// No line of an event begins like JSON or HTML, and every JSON line is an object. An empty document
/// is one, too.
fn is_document(first: &[u8], framing: Framing) -> bool {
    let first = first.trim_ascii_start().first();
    match framing {
        Framing::Events => matches!(first, None | Some(b'{' | b'[' | b'<')),
        Framing::Lines => first != Some(&b'{'),
    }
}

/// A body of which the beginning was read.
struct Begun {
    first: Option<Bytes>,
    rest: reqwest::Body,
}

impl Body for Begun {
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
