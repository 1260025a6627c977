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
        let whole = async move {
            match self.chat(request).await {
                Ok(response) => {
                    let text = response.message.text().map(|text| StreamEvent::Text(text.into()));
                    let completed = StreamEvent::Completed(Box::new(response));
                    stream::iter(text.into_iter().chain([completed]).map(Ok).collect::<Vec<_>>())
                }
                Err(error) => stream::iter(vec![Err(error)]),
            }
        };
        stream::once(whole).flatten().boxed()
    }

    /// What the model can do; tools only, unless it says otherwise.
    fn capabilities(&self) -> Capabilities {
        Capabilities::of([Capability::Tools])
    }

    /// The name of the model for traces, for example `gpt-4o-mini`.
    fn name(&self) -> &str {
        "unknown"
    }
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

/// A piece of a streamed answer.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum StreamEvent {
    /// A piece of the answer's text.
    Text(String),
    /// A piece of what the model thinks.
    Thinking(String),
    /// The end: the whole answer, with everything that was sent before.
    Completed(Box<ChatResponse>),
}
