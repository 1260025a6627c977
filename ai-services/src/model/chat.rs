//! The trait that every chat model implements.

use super::{Capabilities, Capability, ChatRequest, ChatResponse};
use crate::error::Result;
use async_trait::async_trait;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream, StreamExt};
use std::sync::Arc;

/// A model that continues a conversation.
///
/// Implement it for a provider that the crate does not know, or to wrap another model. The request
/// is borrowed, so a wrapper may send it several times or to several models.
///
/// # Cancellation
///
/// Dropping the future of [`chat`](Self::chat), or the stream of [`stream`](Self::stream), cancels
/// the request.
///
/// # Examples
///
/// ```
/// use ai_services::message::AiMessage;
/// use ai_services::model::{ChatModel, ChatRequest, ChatResponse};
///
/// struct Echo;
///
/// #[ai_services::async_trait]
/// impl ChatModel for Echo {
///     async fn chat(&self, request: &ChatRequest) -> ai_services::Result<ChatResponse> {
///         let text = request.messages().last().and_then(|message| message.text());
///         Ok(ChatResponse::new(AiMessage::new(text.unwrap_or("nothing"))))
///     }
/// }
/// ```
#[async_trait]
pub trait ChatModel: Send + Sync {
    /// Answers a request.
    ///
    /// # Errors
    ///
    /// Whatever keeps the model from answering; see [`ErrorKind`](crate::ErrorKind). An answer that
    /// was cut off on its way is an error, never a short answer. One that the model ended at its
    /// longest length is an answer, with [`FinishReason::Length`](super::FinishReason::Length).
    async fn chat(&self, request: &ChatRequest) -> Result<ChatResponse>;

    /// Answers a request piece by piece.
    ///
    /// The last item is [`StreamEvent::Completed`] or an error; nothing follows it. Unless a model
    /// does better, the answer comes as one piece.
    fn stream<'a>(&'a self, request: &'a ChatRequest) -> BoxStream<'a, Result<StreamEvent>> {
        in_one_piece(self, request)
    }

    /// What the model can do; tools and the choice of them, unless it says otherwise.
    fn capabilities(&self) -> Capabilities {
        Capabilities::of([Capability::Tools, Capability::ToolChoice])
    }

    /// The name of the model for traces, for example `gpt-4o-mini`.
    fn name(&self) -> &str {
        "unknown"
    }
}

/// The stream of a model that only answers whole.
pub(crate) fn in_one_piece<'a, M: ChatModel + ?Sized>(
    model: &'a M,
    request: &'a ChatRequest,
) -> BoxStream<'a, Result<StreamEvent>> {
    let whole = async move {
        match model.chat(request).await {
            Ok(response) => stream::iter(pieces(response).into_iter().map(Ok).collect::<Vec<_>>()),
            Err(error) => stream::iter(vec![Err(error)]),
        }
    };
    stream::once(whole).flatten().boxed()
}

/// A whole answer as the events of a stream.
pub(crate) fn pieces(response: ChatResponse) -> Vec<StreamEvent> {
    let message = &response.message;
    let thinking = message.thinking().map(|thinking| StreamEvent::Thinking(thinking.into()));
    let text = message.text().map(|text| StreamEvent::Text(text.into()));
    let calls = message.tool_calls().iter().enumerate().map(|(index, call)| {
        let delta = ToolCallDelta::new(index).with_name(call.name());
        let delta = delta.with_arguments(call.arguments());
        StreamEvent::ToolCall(if call.id().is_empty() { delta } else { delta.with_id(call.id()) })
    });
    let mut events: Vec<_> = thinking.into_iter().chain(text).chain(calls).collect();
    events.push(StreamEvent::Completed(Box::new(response)));
    events
}

// The inner future is handed on as it is: an async function would put it into a second box.
impl<M: ChatModel + ?Sized> ChatModel for Arc<M> {
    fn chat<'a, 'b, 'z>(&'a self, request: &'b ChatRequest) -> BoxFuture<'z, Result<ChatResponse>>
    where
        'a: 'z,
        'b: 'z,
        Self: 'z,
    {
        M::chat(self, request)
    }

    fn stream<'a>(&'a self, request: &'a ChatRequest) -> BoxStream<'a, Result<StreamEvent>> {
        M::stream(self, request)
    }

    fn capabilities(&self) -> Capabilities {
        M::capabilities(self)
    }

    fn name(&self) -> &str {
        M::name(self)
    }
}

/// A piece of a streamed answer, as a model emits it.
///
/// The pieces of one kind, put together, are what [`Completed`](Self::Completed) carries.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum StreamEvent {
    /// A piece of the answer's text.
    Text(String),
    /// A piece of what the model thinks.
    Thinking(String),
    /// A piece of a tool call, as it is written.
    ToolCall(ToolCallDelta),
    /// The end: the whole answer, with everything that was sent before.
    Completed(Box<ChatResponse>),
}

/// A piece of a tool call that the model is still writing.
///
/// For showing progress. The call may only be executed when it stands in the completed answer:
/// until then its arguments are the beginning of a text, not JSON.
///
/// # Examples
///
/// ```
/// use ai_services::model::ToolCallDelta;
///
/// let begin = ToolCallDelta::new(0).with_id("call-1").with_name("weather");
/// let next = ToolCallDelta::new(0).with_arguments(r#"{"city":"#);
/// assert_eq!((begin.index, begin.name.as_deref()), (next.index, Some("weather")));
/// assert_eq!(next.arguments, r#"{"city":"#);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolCallDelta {
    /// Which call of the answer it belongs to, counted from 0 in the order of
    /// [`AiMessage::tool_calls`](crate::message::AiMessage::tool_calls).
    pub index: usize,
    /// The id of the call, in the first piece if the provider gives one.
    pub id: Option<Box<str>>,
    /// The name of the tool, in the first piece.
    pub name: Option<Box<str>>,
    /// What is added to the arguments; empty if nothing.
    pub arguments: String,
}

impl ToolCallDelta {
    /// A piece that adds nothing yet to the call at `index`.
    #[must_use]
    pub fn new(index: usize) -> Self {
        Self { index, ..Self::default() }
    }

    /// The same piece with the id of the call.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<Box<str>>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// The same piece with the name of the tool.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<Box<str>>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// The same piece with what it adds to the arguments.
    #[must_use]
    pub fn with_arguments(mut self, arguments: impl Into<String>) -> Self {
        self.arguments = arguments.into();
        self
    }
}
