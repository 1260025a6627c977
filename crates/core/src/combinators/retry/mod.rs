//! Retries of failed requests.

mod policy;

pub use policy::{Jitter, RetryPolicy};

use super::started_stream::{StartedStream, flatten};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{
    Capabilities, ChatModel, ChatRequest, ChatResponse, FailedAttempt, FailedAttempts,
    ModelEndpoint, ModelStreamEvent,
};
use async_trait::async_trait;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use std::fmt;
use std::sync::Arc;
use tokio::time::{Instant, sleep, timeout_at};

/// A model that retries failed requests according to a [`RetryPolicy`].
///
/// The provider clients retry requests themselves, twice by default, with more details than an error
/// contains. Use this model for other cases: for your own models; around a
/// [`RateLimitedModel`](super::RateLimitedModel), so that every attempt is counted; or around a
/// [`FallbackModel`](super::FallbackModel), so that all models are called again. Retries multiply: 3 attempts
/// at a client with 2 retries are 9 requests. Set the client's `max_retries` to 0 in that case. A stream is
/// retried only before its first event is delivered.
///
/// The [`attempts`](ChatResponse::attempts) of the answer or the error count how often the request was sent,
/// retries of clients included. The usage is the sum of all attempts.
///
/// # Errors
///
/// Returns the error of the last attempt. After several attempts, its [`FailedAttempts`] lists the errors of
/// all of them. Returns [`ErrorKind::Timeout`] at the policy's deadline.
///
/// # Examples
///
/// ```
/// use ai_services::ErrorKind;
/// use ai_services::combinators::{RetryModel, RetryPolicy};
/// use ai_services::message::ChatMessage;
/// use ai_services::model::{ChatModel, ChatRequest};
/// use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> ai_services::Result<()> {
/// # tokio::time::pause();
/// let script = ScriptedChatModel::new([
///     ScriptedAnswer::error(ErrorKind::Unavailable, "overloaded"),
///     ScriptedAnswer::text("Hello."),
/// ]);
/// let model = RetryModel::new(script, RetryPolicy::new().max_attempts(5));
/// let response = model.chat(&ChatRequest::new([ChatMessage::user("Hi!")])).await?;
/// assert_eq!((response.message.text(), response.attempts), (Some("Hello."), Some(2)));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct RetryModel(Arc<Inner>);

struct Inner {
    model: Box<dyn ChatModel>,
    policy: RetryPolicy,
}

impl RetryModel {
    /// Creates a model that retries requests to `model`.
    pub fn new(model: impl ChatModel + 'static, policy: RetryPolicy) -> Self {
        Self(Arc::new(Inner { model: Box::new(model), policy }))
    }

    /// Calls the model until it answers or the policy gives up.
    async fn call_with_retries<'a, T: Send>(
        &'a self,
        call: impl Fn(&'a dyn ChatModel) -> BoxFuture<'a, Result<T>> + Send,
    ) -> Result<(T, Vec<FailedAttempt>)> {
        let Inner { model, policy } = &*self.0;
        let deadline = policy.deadline.and_then(|limit| Instant::now().checked_add(limit));
        let mut failed: Vec<FailedAttempt> = Vec::new();
        loop {
            let calling = call(&**model);
            let outcome = match deadline {
                None => calling.await,
                Some(at) => {
                    timeout_at(at, calling).await.unwrap_or_else(|_| Err(deadline_error(policy)))
                }
            };
            let error = match outcome {
                Ok(answer) => return Ok((answer, failed)),
                Err(error) => error,
            };
            let attempts = u32::try_from(failed.len()).unwrap_or(u32::MAX).saturating_add(1);
            let delay = policy.delay(&error, attempts, deadline);
            let attempt = FailedAttempt::new(model.name(), error);
            let Some(delay) = delay else {
                return Err(FailedAttempts::into_error(failed, attempt));
            };
            let (model, kind) = (model.name(), attempt.error.kind());
            tracing::info!(model, ?kind, ?delay, "retrying the request");
            failed.push(attempt);
            sleep(delay).await;
        }
    }
}

fn deadline_error(policy: &RetryPolicy) -> Error {
    let limit = policy.deadline.unwrap_or_default();
    Error::new(ErrorKind::Timeout, format!("no answer within {limit:?}, retries included"))
}

#[async_trait]
impl ChatModel for RetryModel {
    async fn chat(&self, request: &ChatRequest) -> Result<ChatResponse> {
        let (response, failed) = self.call_with_retries(|model| model.chat(request)).await?;
        Ok(response.after(&failed, self.name()))
    }

    fn stream<'a>(&'a self, request: &'a ChatRequest) -> BoxStream<'a, Result<ModelStreamEvent>> {
        flatten(async move {
            let (started, failed) = self
                .call_with_retries(|model| StartedStream::start(model.stream(request)).boxed())
                .await?;
            Ok(started.into_events(failed, self.name()))
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

impl fmt::Debug for RetryModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RetryModel")
            .field("model", &self.name())
            .field("policy", &self.0.policy)
            .finish()
    }
}
