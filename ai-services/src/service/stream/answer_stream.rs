//! The streamed answer of a method.

use super::event_queue::{EventQueue, StreamItem};
use crate::approval::PendingTurn;
use crate::output::{Output, Shape};
use crate::service::description::AnswerForm;
use crate::{Error, ErrorKind, Result};
use ai_services_core::answer::{Response, StreamEvent};
use futures_util::future::BoxFuture;
use futures_util::stream::{BoxStream, FusedStream, Stream, StreamExt};
use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// The answer of a streaming method: the events of the call, then the answer.
///
/// A streaming method is a plain `fn` that returns an `AnswerStream`. The stream is lazy: prompts are
/// rendered when the method is called, and nothing else happens before the first poll. The turn is
/// the same as that of an `async fn`, with tools, moderation and memory.
///
/// The last item is either [`StreamEvent::Completed`] or an error. If `T` is a type of your own, the
/// model returns JSON, and the last item contains the value; [`partial`](Self::partial) returns the
/// growing value.
///
/// # Cancellation
///
/// Dropping the stream cancels the request. The turn is then not stored, unless its commit was already
/// under way: then it is stored whole or not at all, and unknown which of the two. While the stream is
/// not polled, at most a small buffer is read ahead.
///
/// # Examples
///
/// ```
/// use ai_services::testing::ScriptedChatModel;
/// use ai_services::{StreamEvent, AnswerStream, ai_service};
///
/// #[ai_service]
/// trait Assistant {
///     fn chat(&self, message: &str) -> AnswerStream;
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> ai_services::Result<()> {
/// let model = ScriptedChatModel::replies(["Hello, Ann."]);
/// let assistant = AssistantService::builder().chat_model(model).build()?;
/// let mut stream = assistant.chat("I am Ann.");
/// let mut shown = String::new();
/// while let Some(event) = stream.next().await {
///     match event? {
///         StreamEvent::Text(piece) => shown.push_str(&piece),
///         StreamEvent::Completed(response) => assert_eq!(response.value, "Hello, Ann."),
///         _ => {}
///     }
/// }
/// assert_eq!(shown, "Hello, Ann.");
/// # Ok(())
/// # }
/// ```
///
/// # Differences from LangChain4j
///
/// There are no callbacks: errors are items, nothing is sent before the first poll, and dropping the
/// stream cancels the request. The memory is written once, at the end.
#[must_use = "streams do nothing unless they are polled"]
pub struct AnswerStream<T = String>(StreamState<T>);

enum StreamState<T> {
    /// A call of a service.
    Call(RunningCall<T>),
    /// Other events, for example of a test double.
    Events(BoxStream<'static, Result<StreamEvent<T>>>),
    Over,
}

struct RunningCall<T> {
    outcome: BoxFuture<'static, Result<Response<T>>>,
    queue: Arc<EventQueue>,
    /// Items that were taken from the queue but not returned yet. The call is polled when it is empty.
    items: VecDeque<StreamItem>,
    /// The outcome of the call, while earlier items are left.
    last: Option<Box<Result<Response<T>>>>,
    /// The expected form of the answer, made when the service was built.
    shape: Option<Shape>,
}

impl<T> AnswerStream<T> {
    /// Creates a stream of these events, for a manual implementation of the trait.
    ///
    /// The stream ends after an error or [`StreamEvent::Completed`]. If `events` ends without either
    /// of them, the stream ends with an error.
    ///
    /// # Examples
    ///
    /// A double that streams one answer:
    ///
    /// ```
    /// use ai_services::message::AiMessage;
    /// use ai_services::model::ChatResponse;
    /// use ai_services::{AnswerStream, Response, StreamEvent, ai_service};
    /// use futures_util::stream;
    ///
    /// #[ai_service]
    /// trait Assistant {
    ///     fn chat(&self, message: &str) -> AnswerStream;
    /// }
    ///
    /// struct Double;
    ///
    /// impl Assistant for Double {
    ///     fn chat(&self, _: &str) -> AnswerStream {
    ///         let answer = ChatResponse::new(AiMessage::new("Hello."));
    ///         let answer = Response::new("Hello.".to_owned(), answer);
    ///         let events = [
    ///             StreamEvent::Text("Hel".to_owned()),
    ///             StreamEvent::Text("lo.".to_owned()),
    ///             StreamEvent::Completed(Box::new(answer)),
    ///         ];
    ///         AnswerStream::from_events(stream::iter(events.map(Ok)))
    ///     }
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> ai_services::Result<()> {
    /// assert_eq!(Double.chat("Hi!").collect().await?.value, "Hello.");
    /// # Ok(())
    /// # }
    /// ```
    pub fn from_events(
        events: impl Stream<Item = Result<StreamEvent<T>>> + Send + 'static,
    ) -> Self {
        Self(StreamState::Events(events.boxed()))
    }

    pub(crate) fn of_call(
        queue: Arc<EventQueue>,
        outcome: BoxFuture<'static, Result<Response<T>>>,
        shape: Option<Shape>,
    ) -> Self {
        let call = RunningCall { outcome, queue, items: VecDeque::new(), last: None, shape };
        Self(StreamState::Call(call))
    }

    /// Returns the next item, or `None` after the last one.
    ///
    /// # Cancellation
    ///
    /// This method is cancel-safe: dropping the future loses no item.
    pub async fn next(&mut self) -> Option<Result<StreamEvent<T>>> {
        poll_fn(|cx| self.poll_item(cx)).await
    }

    /// Waits for the complete answer and returns it.
    ///
    /// # Errors
    ///
    /// Returns the error of the stream.
    pub async fn collect(mut self) -> Result<Response<T>> {
        while let Some(event) = self.next().await {
            match event? {
                StreamEvent::Completed(response) => return Ok(*response),
                StreamEvent::Pending(pending) => return Err((*pending).into()),
                _ => {}
            }
        }
        Err(unexpected_end())
    }

    /// Returns the expected form of the answer, or `None` for events that belong to no call.
    pub(super) fn shape(&self) -> Option<&Shape> {
        match &self.0 {
            StreamState::Call(call) => call.shape.as_ref(),
            StreamState::Events(_) | StreamState::Over => None,
        }
    }

    pub(super) fn poll_item(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<StreamEvent<T>>>> {
        let event = match &mut self.0 {
            StreamState::Call(call) => ready!(call.poll_item(cx)),
            StreamState::Events(events) => {
                ready!(events.poll_next_unpin(cx)).unwrap_or_else(|| Err(unexpected_end()))
            }
            StreamState::Over => return Poll::Ready(None),
        };
        if matches!(&event, Err(_) | Ok(StreamEvent::Completed(_) | StreamEvent::Pending(_))) {
            self.0 = StreamState::Over;
        }
        Poll::Ready(Some(event))
    }
}

impl<T> RunningCall<T> {
    /// Returns the next item, and after all items the outcome of the call.
    fn poll_item(&mut self, cx: &mut Context<'_>) -> Poll<Result<StreamEvent<T>>> {
        if self.items.is_empty() && self.last.is_none() {
            if let Poll::Ready(last) = self.outcome.as_mut().poll(cx) {
                self.last = Some(Box::new(last));
            }
            self.queue.take(&mut self.items);
        }
        match (self.items.pop_front(), self.last.take()) {
            (Some(item), last) => {
                self.last = last;
                Poll::Ready(Ok(item.into()))
            }
            (None, Some(last)) => Poll::Ready(match *last {
                Ok(response) => Ok(StreamEvent::Completed(Box::new(response))),
                Err(error) => match error.detail::<PendingTurn>() {
                    Some(pending) => Ok(StreamEvent::Pending(Box::new(pending.clone()))),
                    None => Err(error),
                },
            }),
            (None, None) => Poll::Pending,
        }
    }
}

impl<T> Stream for AnswerStream<T> {
    type Item = Result<StreamEvent<T>>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_item(cx)
    }
}

impl<T> FusedStream for AnswerStream<T> {
    fn is_terminated(&self) -> bool {
        matches!(self.0, StreamState::Over)
    }
}

// No field is pinned: the call is in a box, and the answer is moved out.
impl<T> Unpin for AnswerStream<T> {}

impl<T> fmt::Debug for AnswerStream<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &self.0 {
            StreamState::Call(_) | StreamState::Events(_) => "open",
            StreamState::Over => "over",
        };
        write!(f, "AnswerStream({state})")
    }
}

/// The return type of a streaming method: an [`AnswerStream`].
#[diagnostic::on_unimplemented(
    message = "an AI service method that is not `async` must return an `AnswerStream`, not `{Self}`",
    label = "not a stream",
    note = "`fn` streams its answer and returns `ai_services::AnswerStream`; `async fn` waits for it and returns a `Result`"
)]
pub trait StreamReturn: Send + Sized {
    /// The type itself, for generated code. See [`MethodReturn`](super::super::MethodReturn).
    #[doc(hidden)]
    type This: StreamReturn;
    #[doc(hidden)]
    type Output: Output + 'static;
    #[doc(hidden)]
    fn from_stream(stream: AnswerStream<Self::Output>) -> Self;

    /// Returns the expected form of the answer.
    #[doc(hidden)]
    fn answer() -> AnswerForm {
        AnswerForm::of::<Self::Output>()
    }
}

impl<T: Output + 'static> StreamReturn for AnswerStream<T> {
    type This = Self;
    type Output = T;

    fn from_stream(stream: Self) -> Self {
        stream
    }
}

/// The error of [`AnswerStream::from_events`] whose events end too early.
fn unexpected_end() -> Error {
    Error::new(ErrorKind::InvalidResponse, "the stream ended without an answer")
}
