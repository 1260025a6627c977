//! Asking a model in both ways, and what is true of whatever comes back.
#![allow(clippy::unwrap_used, clippy::missing_panics_doc, reason = "a panic is how a test fails")]

use super::{Client, Protocol, all};
use crate::PATIENCE;
use crate::fault_server::{FaultServer, once};
use ai_services::fuzzing::{Summary, summary};
use ai_services::message::{ChatMessage, ToolCall};
use ai_services::model::{ChatModel, ChatRequest, ChatResponse, ModelStreamEvent, PartialAnswer};
use ai_services::{Error, ErrorKind, Result};
use futures_util::StreamExt;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// No call takes longer. Far above every limit that is set here, for machines that are busy.
const HANG: Duration = PATIENCE.saturating_mul(2);

/// How an answer is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mode {
    /// With [`ChatModel::chat`].
    Whole,
    /// With [`ChatModel::stream`].
    Stream,
}

/// A protocol, and how its server is asked.
#[derive(Clone, Copy, Debug)]
pub struct Exchange {
    /// The protocol.
    pub protocol: Protocol,
    /// How.
    pub mode: Mode,
}

/// What came of asking.
#[derive(Debug)]
pub struct Outcome {
    /// All pieces together, or what the answer says.
    pub said: Summary,
    /// The answer, or why there is none.
    pub end: Result<ChatResponse>,
}

/// Every protocol in both ways.
pub fn exchanges() -> impl Iterator<Item = Exchange> {
    all()
        .into_iter()
        .flat_map(|protocol| [Mode::Whole, Mode::Stream].map(|mode| Exchange { protocol, mode }))
}

impl Exchange {
    /// What a server sends that does not fail.
    #[must_use]
    pub fn body(&self) -> String {
        match self.mode {
            Mode::Whole => (self.protocol.whole)(),
            Mode::Stream => (self.protocol.stream)(),
        }
    }

    /// The content type of [`body`](Self::body).
    #[must_use]
    pub fn content_type(&self) -> &'static str {
        match self.mode {
            Mode::Whole => "application/json",
            Mode::Stream => self.protocol.stream_type,
        }
    }

    /// The answer of a server that does not fail, the last one on its connection.
    #[must_use]
    pub fn answer(&self) -> Vec<u8> {
        once(200, &[("content-type", self.content_type())], self.body())
    }

    /// A client that never retries.
    #[must_use]
    pub fn client(&self, server: &FaultServer) -> Arc<dyn ChatModel> {
        self.client_with(server, |_| {})
    }

    /// A client that is set up differently.
    #[must_use]
    pub fn client_with(
        &self,
        server: &FaultServer,
        set_up: impl FnOnce(&mut Client<'_>),
    ) -> Arc<dyn ChatModel> {
        let origin = server.origin();
        let mut client = Client::of(&origin);
        set_up(&mut client);
        (self.protocol.client)(&client).unwrap()
    }

    /// What comes of asking this model.
    pub async fn ask(&self, model: &dyn ChatModel) -> Outcome {
        let asked = timeout(HANG, ask(model, self.mode)).await;
        asked.unwrap_or_else(|_| unreachable!("{self:?} hangs"))
    }

    /// What comes of one answer, at a client that never retries.
    pub async fn ask_once(&self, bytes: impl Into<Vec<u8>>) -> Outcome {
        let server = FaultServer::answering([bytes.into()]).await.unwrap();
        self.ask(&*self.client(&server)).await
    }

    /// What a server that does not fail says.
    #[must_use]
    pub fn expected(&self) -> Summary {
        said(&(self.protocol.read)(vec![(self.protocol.stream)().into()]))
    }
}

impl Outcome {
    /// The error.
    pub fn unwrap_err(self) -> Error {
        self.end.unwrap_err()
    }

    /// Whether there is an answer.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        self.end.is_ok()
    }

    /// The kind of the error, if it is one.
    #[must_use]
    pub fn kind(&self) -> Option<ErrorKind> {
        self.end.as_ref().err().map(Error::kind)
    }

    /// The whole answer, nothing less.
    pub fn assert_whole(&self, exchange: &Exchange, context: &str) {
        assert!(self.is_ok(), "{exchange:?}, {context}: {:?}", self.end);
        assert_eq!(self.said, exchange.expected(), "{exchange:?}, {context}");
    }

    /// The whole answer, or an error that says what a server or a network can do wrong, with the
    /// beginning of the answer.
    pub fn assert_whole_or_error(&self, exchange: &Exchange, context: &str) {
        let Err(error) = &self.end else { return self.assert_whole(exchange, context) };
        let kinds = [
            ErrorKind::Authentication,
            ErrorKind::Connection,
            ErrorKind::InvalidRequest,
            ErrorKind::InvalidResponse,
            ErrorKind::RateLimited,
            ErrorKind::Timeout,
            ErrorKind::Unavailable,
        ];
        assert!(kinds.contains(&error.kind()), "{exchange:?}, {context}: {error:?}");
        assert!(error.attempts().is_some(), "{exchange:?}, {context}: {error:?}");
        assert_begins(&exchange.expected(), &self.said, &format!("{exchange:?}, {context}"));
    }
}

/// Asserts that `part` is how `whole` begins.
pub fn assert_begins(whole: &Summary, part: &Summary, context: &str) {
    assert!(whole.text.starts_with(&part.text), "{context}: {part:?}");
    assert!(whole.thinking.starts_with(&part.thinking), "{context}: {part:?}");
    assert!(whole.calls.len() >= part.calls.len(), "{context}: {part:?}");
    for (whole, part) in whole.calls.iter().zip(&part.calls) {
        assert!(whole.2.starts_with(&part.2), "{context}: {part:?}");
    }
}

/// What every server is asked.
pub fn hello() -> ChatRequest {
    ChatRequest::new([ChatMessage::user("Hello!")])
}

async fn ask(model: &dyn ChatModel, mode: Mode) -> Outcome {
    let request = hello();
    if mode == Mode::Stream {
        let events = model.stream(&request).collect().await;
        return ended(events);
    }
    let end = model.chat(&request).await;
    let said = end.as_ref().map(said_whole).unwrap_or_default();
    Outcome { said, end }
}

/// A stream, which has one end and nothing behind it.
fn ended(mut events: Vec<Result<ModelStreamEvent>>) -> Outcome {
    let said = said(&events);
    let end = match events.pop() {
        Some(Ok(ModelStreamEvent::Completed(response))) => Ok(*response),
        Some(Err(error)) => Err(error),
        last => unreachable!("no end: {last:?}"),
    };
    Outcome { said, end }
}

/// What a stream said. An error before it began has nothing to keep.
pub fn said(events: &[Result<ModelStreamEvent>]) -> Summary {
    match events {
        [Err(error)] if error.detail::<PartialAnswer>().is_none() => Summary::default(),
        _ => Summary { error: None, ..summary(events) },
    }
}

fn said_whole(response: &ChatResponse) -> Summary {
    let message = &response.message;
    let call = |call: &ToolCall| {
        (call.id().to_owned(), call.name().to_owned(), call.arguments().to_owned())
    };
    Summary {
        text: message.text().unwrap_or_default().to_owned(),
        thinking: message.thinking().unwrap_or_default().to_owned(),
        calls: message.tool_calls().iter().map(call).collect(),
        usage: response.usage,
        error: None,
    }
}
