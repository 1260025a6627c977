//! What a scripted model answers.

use crate::error::{Error, ErrorKind, Result};
use crate::message::{AiMessage, ToolCall};
use crate::model::{self, ChatResponse, FinishReason, StreamEvent, TokenUsage};
use futures_util::stream::{self, Stream, StreamExt};
use std::time::Duration;

/// One answer of a [`ScriptedChatModel`](super::ScriptedChatModel).
///
/// # Examples
///
/// ```
/// use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
/// use ai_services::{TokenStream, ai_service};
///
/// #[ai_service]
/// trait Assistant {
///     fn chat(&self, message: &str) -> TokenStream;
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
    /// How a stream tells the answer: the pieces of its text, and the pauses between them.
    pieces: Vec<Box<str>>,
    pause: Option<Duration>,
}

impl ScriptedAnswer {
    /// A text.
    pub fn text(text: impl Into<Box<str>>) -> Self {
        let response = ChatResponse::new(AiMessage::new(text));
        response.with_finish_reason(FinishReason::Stop).into()
    }

    /// Calls of tools, without a text.
    pub fn tool_calls(calls: impl IntoIterator<Item = ToolCall>) -> Self {
        let response = ChatResponse::new(AiMessage::builder().tool_calls(calls).build());
        response.with_finish_reason(FinishReason::ToolExecution).into()
    }

    /// An error.
    pub fn error(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error::new(kind, message.into()).into()
    }

    /// A text that a stream tells in these pieces.
    ///
    /// Asked for the whole answer, the model gives all of them together.
    pub fn pieces<T: Into<Box<str>>>(pieces: impl IntoIterator<Item = T>) -> Self {
        let pieces: Vec<Box<str>> = pieces.into_iter().map(Into::into).collect();
        Self { pieces: pieces.clone(), ..Self::text(pieces.concat()) }
    }

    /// The same answer with the text in pieces of this many characters when it is streamed.
    #[must_use]
    pub fn in_pieces_of(mut self, characters: usize) -> Self {
        let text = self.outcome.as_ref().ok().and_then(|response| response.message.text());
        let all: Vec<char> = text.unwrap_or_default().chars().collect();
        let pieces = all.chunks(characters.max(1));
        self.pieces = pieces.map(|piece| piece.iter().collect::<String>().into()).collect();
        self
    }

    /// The same answer with a pause before each piece, measured by tokio's clock.
    #[must_use]
    pub fn with_pauses(mut self, pause: Duration) -> Self {
        self.pause = Some(pause);
        self
    }

    /// The same pieces, and then this error in place of the end.
    #[must_use]
    pub fn then_error(mut self, kind: ErrorKind, message: impl Into<String>) -> Self {
        self.outcome = Err(Error::new(kind, message.into()));
        self
    }

    /// The same answer with its cost. An error's cost is what was spent before it.
    #[must_use]
    pub fn with_usage(mut self, usage: TokenUsage) -> Self {
        self.outcome = match self.outcome {
            Ok(response) => Ok(response.with_usage(usage)),
            Err(error) => Err(error.with_usage(usage)),
        };
        self
    }

    /// The same answer after a time, measured by tokio's clock, so that tests can pause it.
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

    /// What a stream tells.
    pub(super) fn into_events(self) -> impl Stream<Item = Result<StreamEvent>> + Send {
        let Self { outcome, pieces, pause, .. } = self;
        let text: Vec<_> =
            pieces.into_iter().map(|piece| StreamEvent::Text(piece.into())).collect();
        let events: Vec<_> = match outcome {
            Ok(response) if text.is_empty() => {
                model::pieces(response).into_iter().map(Ok).collect()
            }
            Ok(response) => {
                let (before, after): (Vec<_>, Vec<_>) = model::pieces(response)
                    .into_iter()
                    .filter(|event| !matches!(event, StreamEvent::Text(_)))
                    .partition(|event| matches!(event, StreamEvent::Thinking(_)));
                before.into_iter().chain(text).chain(after).map(Ok).collect()
            }
            Err(error) => text.into_iter().map(Ok).chain([Err(error)]).collect(),
        };
        stream::iter(events).then(move |event| async move {
            if let Some(pause) = pause {
                tokio::time::sleep(pause).await;
            }
            event
        })
    }
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
