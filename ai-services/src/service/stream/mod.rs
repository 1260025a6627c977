//! Answers that arrive piece by piece.

mod event;
mod held;
mod listen;
mod outlet;
mod views;

pub use event::StreamEvent;
pub(super) use held::{tell_round, tell_text, tell_thinking};
pub(super) use listen::{Listening, listen};
pub(super) use outlet::{Outlet, Progress};
pub use views::{PartialStream, TextStream};

use super::description::{Arguments, Method};
use super::handle::{self, AiService};
use super::response::Response;
use crate::error::{Error, ErrorKind, Result};
use crate::output::{Output, Shape};
use futures_util::future::BoxFuture;
use futures_util::stream::{BoxStream, FusedStream, Stream, StreamExt};
use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// The answer of a streaming method: what happens on the way, then the answer.
///
/// A streaming method is a plain `fn` that returns an `AnswerStream`. The stream is lazy: prompts are
/// rendered when the method is called, and nothing else happens before the first poll. It is the same
/// turn as that of an `async fn`, with tools, moderation and memory.
///
/// There is exactly one last item: [`StreamEvent::Completed`], or an error. With a type of your own as
/// `T`, the model is asked for JSON, and the last item carries the value; [`partial`](Self::partial)
/// shows it while it grows.
///
/// # Cancellation
///
/// Dropping the stream cancels the request and leaves the memory as it was. A stream that is not
/// polled reads nothing more from the model than a small buffer holds.
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
/// There are no callbacks to register and none to forget: errors are items, nothing is sent before the
/// first poll, and dropping cancels. The memory is written once, at the end.
#[must_use = "streams do nothing unless they are polled"]
pub struct AnswerStream<T = String>(State<T>);

enum State<T> {
    /// A call of a service.
    Running(Running<T>),
    /// Anything else, for example a double in a test.
    Other(BoxStream<'static, Result<StreamEvent<T>>>),
    Over,
}

struct Running<T> {
    call: BoxFuture<'static, Result<Response<T>>>,
    outlet: Arc<Outlet>,
    /// What was taken from the outlet and not asked for yet. The call goes on when it is empty.
    taken: VecDeque<Progress>,
    /// What the call came to, while pieces before it are left.
    last: Option<Box<Result<Response<T>>>>,
    /// What the answer should look like, as the service worked it out when it was built.
    shape: Option<Shape>,
}

impl<T> AnswerStream<T> {
    /// A stream of these events, for an implementation of the trait by hand.
    ///
    /// Whatever follows an error or [`StreamEvent::Completed`] is left out. Events that end without
    /// either are followed by an error.
    ///
    /// # Examples
    ///
    /// ```
    /// use ai_services::{StreamEvent, AnswerStream};
    /// use futures_util::stream;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let events = [Ok(StreamEvent::Text("Hel".to_owned()))];
    /// let mut stream = AnswerStream::<String>::from_events(stream::iter(events));
    /// assert!(stream.next().await.is_some_and(|event| event.is_ok()));
    /// assert!(stream.next().await.is_some_and(|event| event.is_err()));
    /// assert!(stream.next().await.is_none());
    /// # }
    /// ```
    pub fn from_events(
        events: impl Stream<Item = Result<StreamEvent<T>>> + Send + 'static,
    ) -> Self {
        Self(State::Other(events.boxed()))
    }

    pub(super) fn of_call(
        outlet: Arc<Outlet>,
        call: BoxFuture<'static, Result<Response<T>>>,
        shape: Option<Shape>,
    ) -> Self {
        Self(State::Running(Running { call, outlet, taken: VecDeque::new(), last: None, shape }))
    }

    /// The next item; `None` after the last one.
    ///
    /// # Cancellation
    ///
    /// Dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<Result<StreamEvent<T>>> {
        poll_fn(|cx| self.poll_item(cx)).await
    }

    /// The answer alone, when it is complete.
    ///
    /// # Errors
    ///
    /// That of the stream.
    pub async fn collect(mut self) -> Result<Response<T>> {
        while let Some(event) = self.next().await {
            if let StreamEvent::Completed(response) = event? {
                return Ok(*response);
            }
        }
        Err(no_end())
    }

    /// The values that the answer amounts to while it grows, and at last the whole one.
    ///
    /// What has not arrived yet is empty: texts and lists so far, `None`, 0, `false`. Nothing is shown
    /// as long as there is no such value, for example because an enum is missing. A value that was
    /// shown only grows, unless the answer [begins again](StreamEvent::Restarted).
    ///
    /// # Examples
    ///
    /// ```
    /// use ai_services::testing::ScriptedChatModel;
    /// use ai_services::{AnswerStream, ai_service};
    /// use schemars::JsonSchema;
    /// use serde::Deserialize;
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Recipe {
    ///     title: String,
    ///     steps: Vec<String>,
    /// }
    ///
    /// #[ai_service]
    /// trait Cook {
    ///     #[user_message("A recipe for {{it}}.")]
    ///     fn recipe(&self, dish: &str) -> AnswerStream<Recipe>;
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> ai_services::Result<()> {
    /// let model = ScriptedChatModel::replies([r#"{"title":"Tea","steps":["Boil.","Wait."]}"#]);
    /// let cook = CookService::builder().chat_model(model).build()?;
    /// let mut recipes = cook.recipe("tea").partial();
    /// while let Some(recipe) = recipes.next().await {
    ///     let recipe = recipe?;
    ///     println!("{}: {} steps so far", recipe.title, recipe.steps.len());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn partial(self) -> PartialStream<T>
    where
        T: Output,
    {
        PartialStream::new(self)
    }

    fn poll_item(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<StreamEvent<T>>>> {
        match &mut self.0 {
            State::Running(running) => {
                let event = ready!(running.poll_item(cx));
                if matches!(&event, Err(_) | Ok(StreamEvent::Completed(_))) {
                    self.0 = State::Over;
                }
                Poll::Ready(Some(event))
            }
            State::Other(events) => {
                let event = match ready!(events.poll_next_unpin(cx)) {
                    Some(event) => event,
                    None => Err(no_end()),
                };
                if matches!(&event, Err(_) | Ok(StreamEvent::Completed(_))) {
                    self.0 = State::Over;
                }
                Poll::Ready(Some(event))
            }
            State::Over => Poll::Ready(None),
        }
    }
}

impl<T> Running<T> {
    /// The next piece; after all of them, what the call came to.
    fn poll_item(&mut self, cx: &mut Context<'_>) -> Poll<Result<StreamEvent<T>>> {
        if self.taken.is_empty() && self.last.is_none() {
            if let Poll::Ready(last) = self.call.as_mut().poll(cx) {
                self.last = Some(Box::new(last));
            }
            self.outlet.take(&mut self.taken);
        }
        match (self.taken.pop_front(), self.last.take()) {
            (Some(progress), last) => {
                self.last = last;
                Poll::Ready(Ok(progress.into()))
            }
            (None, Some(last)) => {
                Poll::Ready(last.map(|response| StreamEvent::Completed(Box::new(response))))
            }
            (None, None) => Poll::Pending,
        }
    }
}

impl AnswerStream<String> {
    /// The text alone: that of the answer, and what the model says before it calls tools.
    ///
    /// # Examples
    ///
    /// ```
    /// use ai_services::testing::ScriptedChatModel;
    /// use ai_services::{AnswerStream, ai_service};
    ///
    /// #[ai_service]
    /// trait Assistant {
    ///     fn chat(&self, message: &str) -> AnswerStream;
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> ai_services::Result<()> {
    /// let model = ScriptedChatModel::replies(["Hi."]);
    /// let assistant = AssistantService::builder().chat_model(model).build()?;
    /// let mut text = assistant.chat("Hello!").text();
    /// while let Some(piece) = text.next().await {
    ///     print!("{}", piece?);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn text(self) -> TextStream {
        TextStream::new(self)
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
        matches!(self.0, State::Over)
    }
}

// Nothing in a stream is pinned in place: the call is behind a box, and the answer is moved.
impl<T> Unpin for AnswerStream<T> {}

impl<T> fmt::Debug for AnswerStream<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &self.0 {
            State::Running(_) | State::Other(_) => "open",
            State::Over => "over",
        };
        write!(f, "AnswerStream({state})")
    }
}

/// What a streaming method returns: an [`AnswerStream`].
#[diagnostic::on_unimplemented(
    message = "an AI service method that is not `async` must return an `AnswerStream`, not `{Self}`",
    label = "not a stream",
    note = "`fn` streams its answer and returns `ai_services::AnswerStream`; `async fn` waits for it and returns a `Result`"
)]
pub trait StreamReturn: Send + Sized {
    #[doc(hidden)]
    type Output: Output;
    #[doc(hidden)]
    fn from_stream(stream: AnswerStream<Self::Output>) -> Self;

    /// What the answer should look like.
    #[doc(hidden)]
    fn shape() -> Shape {
        Self::Output::shape()
    }

    /// The body of a method.
    #[doc(hidden)]
    fn stream(service: &AiService, method: &'static Method, arguments: Arguments<'_>) -> Self {
        handle::stream(service, method, arguments)
    }
}

impl<T: Output + 'static> StreamReturn for AnswerStream<T> {
    type Output = T;

    fn from_stream(stream: Self) -> Self {
        stream
    }
}

/// Only events from elsewhere can end like this.
fn no_end() -> Error {
    Error::new(ErrorKind::InvalidResponse, "the stream ended without an answer")
}
