//! Parts of a stream, for who does not need all of it.

use super::{AnswerStream, State, StreamEvent};
use crate::error::Result;
use crate::output::{Growing, Output};
use futures_util::ready;
use futures_util::stream::Stream;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The text of an [`AnswerStream`]; made by [`AnswerStream::text`].
///
/// Ends after the last piece, or with an error.
#[derive(Debug)]
#[must_use = "streams do nothing unless they are polled"]
pub struct TextStream(AnswerStream);

impl TextStream {
    pub(super) fn new(stream: AnswerStream) -> Self {
        Self(stream)
    }

    /// The next piece; `None` after the last one.
    pub async fn next(&mut self) -> Option<Result<String>> {
        poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }
}

impl Stream for TextStream {
    type Item = Result<String>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            return Poll::Ready(match ready!(self.0.poll_item(cx)) {
                Some(Ok(StreamEvent::Text(text))) => Some(Ok(text)),
                Some(Ok(_)) => continue,
                Some(Err(error)) => Some(Err(error)),
                None => None,
            });
        }
    }
}

/// The growing value of an [`AnswerStream`]; made by [`AnswerStream::partial`].
///
/// Ends after the whole value, or with an error.
#[must_use = "streams do nothing unless they are polled"]
pub struct PartialStream<T> {
    stream: AnswerStream<T>,
    growing: Growing<T>,
    /// How long the text was when it was last looked at, and how much came since.
    seen: usize,
    unseen: usize,
}

/// A long text is looked at again when it has grown by this part, or nothing more is there, so that
/// all looks together cost as much as a few dozen readings of the whole.
const WORTH_A_LOOK: usize = 64;

impl<T: Output> PartialStream<T> {
    pub(super) fn new(stream: AnswerStream<T>) -> Self {
        let known = match &stream.0 {
            State::Running(running) => running.shape.clone(),
            _ => None,
        };
        let growing = Growing::new(known.unwrap_or_else(T::shape));
        Self { stream, growing, seen: 0, unseen: 0 }
    }

    /// The next value; `None` after the whole one.
    pub async fn next(&mut self) -> Option<Result<T>> {
        poll_fn(|cx| self.poll_value(cx)).await
    }

    fn poll_value(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<T>>> {
        loop {
            let value = match self.stream.poll_item(cx) {
                Poll::Ready(Some(Ok(StreamEvent::Text(text)))) => {
                    self.growing.push(&text);
                    self.unseen += text.len();
                    if self.unseen > self.seen / WORTH_A_LOOK { self.look() } else { None }
                }
                Poll::Ready(Some(Ok(StreamEvent::Restarted | StreamEvent::ToolFinished(_)))) => {
                    self.growing.clear();
                    (self.seen, self.unseen) = (0, 0);
                    None
                }
                Poll::Ready(Some(Ok(StreamEvent::Completed(response)))) => Some(response.value),
                Poll::Ready(Some(Ok(_))) => None,
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Some(Err(error))),
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Pending if self.unseen > 0 => match self.look() {
                    Some(value) => Some(value),
                    None => return Poll::Pending,
                },
                Poll::Pending => return Poll::Pending,
            };
            if let Some(value) = value {
                return Poll::Ready(Some(Ok(value)));
            }
        }
    }

    fn look(&mut self) -> Option<T> {
        self.seen += std::mem::take(&mut self.unseen);
        self.growing.value()
    }
}

impl<T: Output> Stream for PartialStream<T> {
    type Item = Result<T>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_value(cx)
    }
}

impl<T> Unpin for PartialStream<T> {}

impl<T> fmt::Debug for PartialStream<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PartialStream").field(&self.stream).finish()
    }
}
