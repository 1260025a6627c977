//! The trait of chat models.

use super::{Capabilities, Capability, ChatRequest, ChatResponse, ModelEndpoint};
use crate::error::Result;
use crate::forward::forward_through_arc;
use async_trait::async_trait;
use futures_util::stream::{self, BoxStream, StreamExt};

/// A model that continues a conversation.
///
/// Implement it for a provider that the crate does not support, or to wrap another model. The
/// request is borrowed, so a wrapper may send it several times or to several models.
///
/// Implementations carry `#[ai_services::async_trait]`. Without it, the compiler reports that "lifetime
/// parameters or bounds on method … do not match the trait declaration".
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
    /// Fails if the model does not answer; see [`ErrorKind`](crate::ErrorKind). An answer that was
    /// truncated in transit is an error, never a short answer. An answer that the model ended at
    /// the token limit is a success with [`FinishReason::Length`](super::FinishReason::Length).
    async fn chat(&self, request: &ChatRequest) -> Result<ChatResponse>;

    /// Answers a request as a stream of events.
    ///
    /// The last item is [`ModelStreamEvent::Completed`] or an error. No item follows it. The
    /// default implementation calls [`chat`](Self::chat) and returns the whole answer at once.
    fn stream<'a>(&'a self, request: &'a ChatRequest) -> BoxStream<'a, Result<ModelStreamEvent>> {
        in_one_piece(self, request)
    }

    /// Returns the capabilities of the model. Default: tools and tool choice.
    fn capabilities(&self) -> Capabilities {
        Capabilities::of([Capability::Tools, Capability::ToolChoice])
    }

    /// Returns the name of the model for traces, for example `gpt-4o-mini`.
    fn name(&self) -> &str {
        "unknown"
    }

    /// Returns the provider of the model, for traces and metrics. A model that wraps another one returns the
    /// endpoint of that model. Default: the provider `unknown`.
    fn endpoint(&self) -> ModelEndpoint<'_> {
        ModelEndpoint::default()
    }
}

/// Streams the whole answer of a model that does not support streaming.
#[doc(hidden)]
pub fn in_one_piece<'a, M: ChatModel + ?Sized>(
    model: &'a M,
    request: &'a ChatRequest,
) -> BoxStream<'a, Result<ModelStreamEvent>> {
    let whole = async move {
        match model.chat(request).await {
            Ok(response) => stream::iter(pieces(response).into_iter().map(Ok).collect::<Vec<_>>()),
            Err(error) => stream::iter(vec![Err(error)]),
        }
    };
    stream::once(whole).flatten().boxed()
}

/// Splits a whole answer into the events of a stream.
#[doc(hidden)]
pub fn pieces(response: ChatResponse) -> Vec<ModelStreamEvent> {
    let message = &response.message;
    let thinking = message.thinking().map(|thinking| ModelStreamEvent::Thinking(thinking.into()));
    let text = message.text().map(|text| ModelStreamEvent::Text(text.into()));
    let calls = message.tool_calls().iter().enumerate().map(|(index, call)| {
        let delta = ToolCallDelta::new(index).with_name(call.name());
        let delta = delta.with_arguments(call.arguments());
        ModelStreamEvent::ToolCall(if call.id().is_empty() {
            delta
        } else {
            delta.with_id(call.id())
        })
    });
    let mut events: Vec<_> = thinking.into_iter().chain(text).chain(calls).collect();
    events.push(ModelStreamEvent::Completed(Box::new(response)));
    events
}

forward_through_arc! {
    ChatModel {
        async fn chat<'a, 'b>(&'a self, request: &'b ChatRequest) -> Result<ChatResponse>;
        fn stream<'a>(&'a self, request: &'a ChatRequest) -> BoxStream<'a, Result<ModelStreamEvent>>;
        fn capabilities(&self) -> Capabilities;
        fn name(&self) -> &str;
        fn endpoint(&self) -> ModelEndpoint<'_>;
    }
}

/// An event of a streamed answer, as a model emits it.
///
/// Joined together, the pieces of one kind equal the content of [`Completed`](Self::Completed).
#[derive(Clone, Debug)]
pub enum ModelStreamEvent {
    /// A piece of the answer's text.
    Text(String),
    /// A piece of the model's thinking.
    Thinking(String),
    /// A piece of a tool call.
    ToolCall(ToolCallDelta),
    /// The end of the stream: the whole answer, including all pieces that were sent before.
    Completed(Box<ChatResponse>),
}

/// A piece of a tool call that the model is still writing.
///
/// Use it to show progress only. Execute a call only when it is part of the completed answer: until
/// then, its arguments are incomplete JSON.
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
    /// Index of the call within the answer, counted from 0 in the order of
    /// [`AiMessage::tool_calls`](crate::message::AiMessage::tool_calls).
    pub index: usize,
    /// The id of the call. Set in the first piece, if the provider sends one.
    pub id: Option<Box<str>>,
    /// The name of the tool. Set in the first piece.
    pub name: Option<Box<str>>,
    /// Text to append to the arguments. May be empty.
    pub arguments: String,
}

impl ToolCallDelta {
    /// Creates a piece without content for the call at `index`.
    #[must_use]
    pub fn new(index: usize) -> Self {
        Self { index, ..Self::default() }
    }

    /// Sets the id of the call.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<Box<str>>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Sets the name of the tool.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<Box<str>>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets the text to append to the arguments.
    #[must_use]
    pub fn with_arguments(mut self, arguments: impl Into<String>) -> Self {
        self.arguments = arguments.into();
        self
    }
}
