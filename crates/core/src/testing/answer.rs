//! The answers of a scripted chat model.

use crate::error::{Error, ErrorKind, Result};
use crate::message::{AiMessage, ToolCall};
use crate::model::{self, ChatResponse, FinishReason, ModelStreamEvent, PartialAnswer, TokenUsage};
use futures_util::stream::{self, Stream, StreamExt};
use std::time::Duration;

/// One answer of a [`ScriptedChatModel`](super::ScriptedChatModel).
///
/// # Examples
///
/// ```
/// use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
/// use ai_services::{AnswerStream, ai_service};
///
/// #[ai_service]
/// trait Assistant {
///     fn chat(&self, message: &str) -> AnswerStream;
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> ai_services::Result<()> {
/// let model = ScriptedChatModel::new([ScriptedAnswer::pieces(["Hel", "lo."])]);
/// let assistant = AssistantService::builder().chat_model(model).build()?;
/// let mut text = assistant.chat("Hi!").text();
/// assert_eq!(text.next().await.transpose()?.as_deref(), Some("Hel"));
/// assert_eq!(text.next().await.transpose()?.as_deref(), Some("lo."));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct ScriptedAnswer {
    pub(super) outcome: Result<ChatResponse>,
    delay: Option<Duration>,
    /// The pieces of the text when the answer is streamed, and the pause before each event.
    pieces: Vec<Box<str>>,
    pause: Option<Duration>,
}

impl ScriptedAnswer {
    /// Creates an answer with a text.
    pub fn text(text: impl Into<Box<str>>) -> Self {
        let response = ChatResponse::new(AiMessage::new(text));
        response.with_finish_reason(FinishReason::Stop).into()
    }

    /// Creates an answer with tool calls and without a text.
    pub fn tool_calls(calls: impl IntoIterator<Item = ToolCall>) -> Self {
        let response = ChatResponse::new(AiMessage::builder().tool_calls(calls).build());
        response.with_finish_reason(FinishReason::ToolExecution).into()
    }

    /// Creates an answer that is an error.
    pub fn error(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error::new(kind, message.into()).into()
    }

    /// Creates an answer whose text is streamed in these pieces.
    ///
    /// Without streaming, the answer contains all pieces joined.
    pub fn pieces<T: Into<Box<str>>>(pieces: impl IntoIterator<Item = T>) -> Self {
        let pieces: Vec<Box<str>> = pieces.into_iter().map(Into::into).collect();
        Self { pieces: pieces.clone(), ..Self::text(pieces.concat()) }
    }

    /// Splits the text into pieces of this many characters when the answer is streamed. At least 1.
    #[must_use]
    pub fn chunked(mut self, characters: usize) -> Self {
        let text = self.outcome.as_ref().ok().and_then(|response| response.message.text());
        let all: Vec<char> = text.unwrap_or_default().chars().collect();
        let pieces = all.chunks(characters.max(1));
        self.pieces = pieces.map(|piece| piece.iter().collect::<String>().into()).collect();
        self
    }

    /// Sets a pause before each event of the stream, measured by Tokio's clock.
    #[must_use]
    pub fn with_pauses(mut self, pause: Duration) -> Self {
        self.pause = Some(pause);
        self
    }

    /// Replaces the end of the answer with this error: the stream ends with it after the pieces.
    ///
    /// As in a provider's stream, the error then has the text of the pieces as a [`PartialAnswer`]. Without
    /// streaming, the answer is the error alone.
    #[must_use]
    pub fn then_error(mut self, kind: ErrorKind, message: impl Into<String>) -> Self {
        self.outcome = Err(Error::new(kind, message.into()));
        self
    }

    /// Sets the token usage of the answer, or for an error the tokens that were used before it.
    #[must_use]
    pub fn with_usage(mut self, usage: TokenUsage) -> Self {
        self.outcome = match self.outcome {
            Ok(response) => Ok(response.with_usage(usage)),
            Err(error) => Err(error.with_usage(usage)),
        };
        self
    }

    /// Delays the answer by a time measured by Tokio's clock, so tests can pause it.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = Some(delay);
        self
    }

    pub(super) async fn wait(&self) {
        if let Some(delay) = self.delay {
            tokio::time::sleep(delay).await;
        }
    }

    /// Returns the events of the stream.
    pub(super) fn into_events(self) -> impl Stream<Item = Result<ModelStreamEvent>> + Send {
        let Self { outcome, pieces, pause, .. } = self;
        let text: Vec<_> =
            pieces.iter().map(|piece| ModelStreamEvent::Text(piece.to_string())).collect();
        let events: Vec<_> = match outcome {
            Ok(response) if text.is_empty() => {
                model::pieces(response).into_iter().map(Ok).collect()
            }
            Ok(response) => {
                let (before, after): (Vec<_>, Vec<_>) = model::pieces(response)
                    .into_iter()
                    .filter(|event| !matches!(event, ModelStreamEvent::Text(_)))
                    .partition(|event| matches!(event, ModelStreamEvent::Thinking(_)));
                before.into_iter().chain(text).chain(after).map(Ok).collect()
            }
            Err(error) => {
                text.into_iter().map(Ok).chain([Err(broken_off(error, &pieces))]).collect()
            }
        };
        stream::iter(events).then(move |event| async move {
            if let Some(pause) = pause {
                tokio::time::sleep(pause).await;
            }
            event
        })
    }
}

/// Adds the text that was streamed before an error. An error before the first piece has none.
fn broken_off(error: Error, pieces: &[Box<str>]) -> Error {
    if pieces.is_empty() { error } else { error.with_source(PartialAnswer::new(pieces.concat())) }
}

impl From<ChatResponse> for ScriptedAnswer {
    fn from(response: ChatResponse) -> Self {
        Self { outcome: Ok(response), delay: None, pieces: Vec::new(), pause: None }
    }
}

impl From<Error> for ScriptedAnswer {
    fn from(error: Error) -> Self {
        Self { outcome: Err(error), delay: None, pieces: Vec::new(), pause: None }
    }
}
