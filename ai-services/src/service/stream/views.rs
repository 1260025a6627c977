//! Views of a stream: its text, and the growing value.

use super::answer_stream::AnswerStream;
use super::event::StreamEvent;
use crate::Result;
use crate::output::{Growing, Output};
use futures_util::ready;
use futures_util::stream::Stream;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

impl AnswerStream<String> {
    /// Returns a stream of the text alone: the answer, and the text before tool calls.
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
        TextStream(self)
    }
}

impl<T: Output> AnswerStream<T> {
    /// Returns a stream of the growing value. Its last item is the whole value.
    ///
    /// Missing parts are empty: texts and lists so far, `None`, 0, `false`. The first value appears
    /// when the text suffices to build one; for example, an enum must be complete. Values only grow,
    /// unless the answer [restarts](StreamEvent::Restarted).
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
    pub fn partial(self) -> PartialStream<T> {
        PartialStream::new(self)
    }
}

/// The text of an [`AnswerStream`], made by [`AnswerStream::text`].
///
/// Ends after the last piece, or with an error.
#[derive(Debug)]
#[must_use = "streams do nothing unless they are polled"]
pub struct TextStream(AnswerStream);

impl TextStream {
    /// Returns the next piece, or `None` after the last one.
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

/// The growing value of an [`AnswerStream`], made by [`AnswerStream::partial`].
///
/// Ends after the whole value, or with an error.
#[must_use = "streams do nothing unless they are polled"]
pub struct PartialStream<T> {
    stream: AnswerStream<T>,
    growing: Growing<T>,
    /// Length of the text when it was last parsed.
    parsed: usize,
    /// Length of the text that arrived since.
    unparsed: usize,
}

/// The text is parsed again after it has grown by 1/64, or when no more of it is available. All
/// parsing together then costs at most a few dozen times as much as parsing the whole text once.
const REPARSE_FRACTION: usize = 64;

impl<T: Output> PartialStream<T> {
    fn new(stream: AnswerStream<T>) -> Self {
        let shape = stream.shape().cloned().unwrap_or_else(T::shape);
        Self { stream, growing: Growing::new(shape), parsed: 0, unparsed: 0 }
    }

    /// Returns the next value, or `None` after the whole one.
    pub async fn next(&mut self) -> Option<Result<T>> {
        poll_fn(|cx| self.poll_value(cx)).await
    }

    fn poll_value(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<T>>> {
        loop {
            let value = match self.stream.poll_item(cx) {
                Poll::Ready(Some(Ok(StreamEvent::Text(text)))) => {
                    self.growing.push(&text);
                    self.unparsed += text.len();
                    if self.unparsed > self.parsed / REPARSE_FRACTION { self.parse() } else { None }
                }
                Poll::Ready(Some(Ok(StreamEvent::Restarted | StreamEvent::ToolFinished(_)))) => {
                    self.growing.clear();
                    (self.parsed, self.unparsed) = (0, 0);
                    None
                }
                Poll::Ready(Some(Ok(StreamEvent::Completed(response)))) => Some(response.value),
                Poll::Ready(Some(Ok(_))) => None,
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Some(Err(error))),
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Pending if self.unparsed > 0 => match self.parse() {
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

    fn parse(&mut self) -> Option<T> {
        self.parsed += std::mem::take(&mut self.unparsed);
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
