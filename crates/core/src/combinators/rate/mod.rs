//! Rate limiting.

mod limiter;
mod window;

pub use limiter::{RateLimiter, RateLimiterBuilder};

use super::started_stream::flatten;
use crate::error::Result;
use crate::model::{
    Capabilities, ChatModel, ChatRequest, ChatResponse, ModelEndpoint, ModelStreamEvent,
};
use async_trait::async_trait;
use futures_util::stream::{BoxStream, StreamExt};
use std::fmt;
use std::sync::Arc;

/// A model that waits before each request until a [`RateLimiter`] admits it.
///
/// Retries inside a client bypass the limiter: set the client's `max_retries` to 0 and put a
/// [`RetryModel`](super::RetryModel) around this model, so that every attempt is counted. Put a
/// [`CachedModel`](super::CachedModel) around it as well, because cached answers do not count for the limits.
///
/// # Errors
///
/// Returns the errors of the model; [`ErrorKind::RateLimited`](crate::ErrorKind::RateLimited) for a request
/// that would wait too long; [`ErrorKind::LimitExceeded`](crate::ErrorKind::LimitExceeded) for a request that
/// alone has more tokens than the limit per minute.
///
/// # Cancellation
///
/// Dropping a call while it waits does not count for the limits. Dropping it while the model answers frees
/// its concurrency slot; the request was sent, so it still counts for its minute.
///
/// # Examples
///
/// ```
/// use ai_services::combinators::{RateLimitedModel, RateLimiter};
/// use ai_services::message::ChatMessage;
/// use ai_services::model::{ChatModel, ChatRequest};
/// use ai_services::testing::ScriptedChatModel;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> ai_services::Result<()> {
/// # tokio::time::pause();
/// # let started = tokio::time::Instant::now();
/// let limiter = RateLimiter::builder().requests_per_minute(1).build()?;
/// let model = RateLimitedModel::new(ScriptedChatModel::replies(["1", "2"]), limiter);
/// let request = ChatRequest::new([ChatMessage::user("Count!")]);
/// model.chat(&request).await?;
/// model.chat(&request).await?; // a minute later
/// # assert_eq!(started.elapsed().as_secs(), 60);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct RateLimitedModel(Arc<Inner>);

struct Inner {
    model: Box<dyn ChatModel>,
    limiter: RateLimiter,
}

impl RateLimitedModel {
    /// Creates a model that sends requests to `model` when `limiter` admits them.
    pub fn new(model: impl ChatModel + 'static, limiter: RateLimiter) -> Self {
        Self(Arc::new(Inner { model: Box::new(model), limiter }))
    }
}

#[async_trait]
impl ChatModel for RateLimitedModel {
    async fn chat(&self, request: &ChatRequest) -> Result<ChatResponse> {
        let admission = self.0.limiter.admit(request).await?;
        let outcome = self.0.model.chat(request).await;
        match &outcome {
            Ok(response) => admission.record_response(response),
            Err(error) => admission.record_error(error),
        }
        outcome
    }

    fn stream<'a>(&'a self, request: &'a ChatRequest) -> BoxStream<'a, Result<ModelStreamEvent>> {
        flatten(async move {
            let mut admission = Some(self.0.limiter.admit(request).await?);
            let events = self.0.model.stream(request).inspect(move |event| match event {
                Ok(ModelStreamEvent::Completed(response)) => {
                    admission
                        .take()
                        .into_iter()
                        .for_each(|permit| permit.record_response(response));
                }
                Err(error) => {
                    admission.take().into_iter().for_each(|permit| permit.record_error(error));
                }
                Ok(_) => {}
            });
            Ok(events.boxed())
        })
    }

    fn capabilities(&self) -> Capabilities {
        self.0.model.capabilities()
    }

    fn name(&self) -> &str {
        self.0.model.name()
    }

    fn endpoint(&self) -> ModelEndpoint<'_> {
        self.0.model.endpoint()
    }
}

impl fmt::Debug for RateLimitedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateLimitedModel")
            .field("model", &self.name())
            .field("limiter", &self.0.limiter)
            .finish()
    }
}
