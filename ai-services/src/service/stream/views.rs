//! Views of a stream: its text, and the growing value.

use super::answer_stream::AnswerStream;
use crate::Result;
use crate::output::{Growing, Output};
use ai_services_core::answer::StreamEvent;
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
    /// The text is read again after it has grown by 1/256: in an answer of more than a few hundred
    /// characters, a value may lack the last characters that have arrived.
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
}

impl<T: Output> PartialStream<T> {
    fn new(stream: AnswerStream<T>) -> Self {
        let shape = stream.shape().cloned().unwrap_or_else(T::shape);
        Self { stream, growing: Growing::new(shape) }
    }

    /// Returns the next value, or `None` after the whole one.
    pub async fn next(&mut self) -> Option<Result<T>> {
        poll_fn(|cx| self.poll_value(cx)).await
    }

    fn poll_value(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<T>>> {
        loop {
            let value = match ready!(self.stream.poll_item(cx)) {
                Some(Ok(StreamEvent::Text(text))) => {
                    self.growing.push(&text);
                    self.growing.value()
                }
                Some(Ok(StreamEvent::Restarted | StreamEvent::ToolFinished(_))) => {
                    self.growing.clear();
                    None
                }
                Some(Ok(StreamEvent::Completed(response))) => Some(response.value),
                Some(Ok(_)) => None,
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            };
            if let Some(value) = value {
                return Poll::Ready(Some(Ok(value)));
            }
        }
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
