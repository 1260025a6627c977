//! Requests with and without streaming, and properties of all outcomes.
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

/// Time limit of a call. Far above all limits in the tests, for busy machines.
const HANG: Duration = PATIENCE.saturating_mul(2);

/// The form of a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mode {
    /// With [`ChatModel::chat`].
    Whole,
    /// With [`ChatModel::stream`].
    Stream,
}

/// A protocol and the form of the request.
#[derive(Clone, Copy, Debug)]
pub struct Exchange {
    /// The protocol.
    pub protocol: Protocol,
    /// With or without streaming.
    pub mode: Mode,
}

/// The outcome of a request.
#[derive(Debug)]
pub struct Outcome {
    /// Summary of all pieces, or of the whole answer.
    pub content: Summary,
    /// The answer or the error.
    pub end: Result<ChatResponse>,
}

/// Returns all protocols, with and without streaming.
pub fn exchanges() -> impl Iterator<Item = Exchange> {
    all()
        .into_iter()
        .flat_map(|protocol| [Mode::Whole, Mode::Stream].map(|mode| Exchange { protocol, mode }))
}

impl Exchange {
    /// Returns the body of a successful answer.
    #[must_use]
    pub fn body(&self) -> String {
        match self.mode {
            Mode::Whole => (self.protocol.whole)(),
            Mode::Stream => (self.protocol.stream)(),
        }
    }

    /// Returns the content type of [`body`](Self::body).
    #[must_use]
    pub fn content_type(&self) -> &'static str {
        match self.mode {
            Mode::Whole => "application/json",
            Mode::Stream => self.protocol.stream_type,
        }
    }

    /// Returns a successful answer that closes its connection.
    #[must_use]
    pub fn answer(&self) -> Vec<u8> {
        once(200, &[("content-type", self.content_type())], self.body())
    }

    /// A client that never retries.
    #[must_use]
    pub fn client(&self, server: &FaultServer) -> Arc<dyn ChatModel> {
        self.client_with(server, |_| {})
    }

    /// Returns a client with these settings.
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

    /// Sends a request to this model.
    pub async fn ask(&self, model: &dyn ChatModel) -> Outcome {
        let asked = timeout(HANG, ask(model, self.mode)).await;
        asked.unwrap_or_else(|_| unreachable!("{self:?} hangs"))
    }

    /// Sends a request to a server with this answer, without retries.
    pub async fn ask_once(&self, bytes: impl Into<Vec<u8>>) -> Outcome {
        let server = FaultServer::answering([bytes.into()]).await.unwrap();
        self.ask(&*self.client(&server)).await
    }

    /// Returns the summary of a successful answer.
    #[must_use]
    pub fn expected(&self) -> Summary {
        content_of(&(self.protocol.read)(vec![(self.protocol.stream)().into()]))
    }
}

impl Outcome {
    /// The error.
    pub fn unwrap_err(self) -> Error {
        self.end.unwrap_err()
    }

    /// Returns `true` if there is an answer.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        self.end.is_ok()
    }

    /// Returns the kind of the error.
    #[must_use]
    pub fn kind(&self) -> Option<ErrorKind> {
        self.end.as_ref().err().map(Error::kind)
    }

    /// Asserts that the outcome is the whole answer.
    pub fn assert_whole(&self, exchange: &Exchange, context: &str) {
        assert!(self.is_ok(), "{exchange:?}, {context}: {:?}", self.end);
        assert_eq!(self.content, exchange.expected(), "{exchange:?}, {context}");
    }

    /// Asserts that the outcome is the whole answer, or an error of the server or the network with
    /// the beginning of the answer.
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
        assert_begins(&exchange.expected(), &self.content, &format!("{exchange:?}, {context}"));
    }
}

/// Asserts that `whole` begins with `part`.
pub fn assert_begins(whole: &Summary, part: &Summary, context: &str) {
    assert!(whole.text.starts_with(&part.text), "{context}: {part:?}");
    assert!(whole.thinking.starts_with(&part.thinking), "{context}: {part:?}");
    assert!(whole.calls.len() >= part.calls.len(), "{context}: {part:?}");
    for (whole, part) in whole.calls.iter().zip(&part.calls) {
        assert!(whole.2.starts_with(&part.2), "{context}: {part:?}");
    }
}

/// Returns the request of all exchanges.
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
    let content = end.as_ref().map(content_of_response).unwrap_or_default();
    Outcome { content, end }
}

/// Returns the outcome of a stream. Asserts that it ends once.
fn ended(mut events: Vec<Result<ModelStreamEvent>>) -> Outcome {
    let content = content_of(&events);
    let end = match events.pop() {
        Some(Ok(ModelStreamEvent::Completed(response))) => Ok(*response),
        Some(Err(error)) => Err(error),
        last => unreachable!("no end: {last:?}"),
    };
    Outcome { content, end }
}

/// Returns the summary of a stream. It is empty for an error before the first event.
pub fn content_of(events: &[Result<ModelStreamEvent>]) -> Summary {
    match events {
        [Err(error)] if error.detail::<PartialAnswer>().is_none() => Summary::default(),
        _ => Summary { error: None, ..summary(events) },
    }
}

fn content_of_response(response: &ChatResponse) -> Summary {
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
