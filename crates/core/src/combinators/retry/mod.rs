//! Asking a model again.

mod policy;

pub use policy::{Jitter, RetryPolicy};

use super::begin::{Begun, flatten};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{
    Capabilities, ChatModel, ChatRequest, ChatResponse, FailedAttempt, FailedAttempts,
    ModelStreamEvent,
};
use async_trait::async_trait;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use std::fmt;
use std::sync::Arc;
use tokio::time::{Instant, sleep, timeout_at};

/// Asks a model again when it fails, by a [`RetryPolicy`].
///
/// The clients of this crate repeat requests themselves, twice by default, and know more than an error
/// tells. This model is for what they cannot do: for models of your own, around a
/// [`RateLimitedModel`](super::RateLimitedModel), so that every attempt is counted, or around a
/// [`FallbackModel`](super::FallbackModel), so that all models are asked again. The numbers multiply:
/// 3 attempts at a client of 2 retries are 9 requests. Set the client's `max_retries` to 0 then.
///
/// A stream is asked for again only as long as none of its pieces was told.
///
/// [`attempts`](ChatResponse::attempts) of the answer, or of the error, counts how often the request
/// was sent, by the clients as well; the usage counts all attempts.
///
/// # Errors
///
/// The error of the last attempt. If there were several, its [`FailedAttempts`] are the errors of all
/// of them. [`ErrorKind::Timeout`] at the policy's deadline.
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
    /// Asks `model` again by `policy`.
    pub fn new(model: impl ChatModel + 'static, policy: RetryPolicy) -> Self {
        Self(Arc::new(Inner { model: Box::new(model), policy }))
    }

    /// Asks until the model answers, or the policy gives up.
    async fn ask<'a, T: Send>(
        &'a self,
        ask: impl Fn(&'a dyn ChatModel) -> BoxFuture<'a, Result<T>> + Send,
    ) -> Result<(T, Vec<FailedAttempt>)> {
        let Inner { model, policy } = &*self.0;
        let deadline = policy.deadline.and_then(|limit| Instant::now().checked_add(limit));
        let mut failed: Vec<FailedAttempt> = Vec::new();
        loop {
            let asking = ask(&**model);
            let outcome = match deadline {
                None => asking.await,
                Some(at) => timeout_at(at, asking).await.unwrap_or_else(|_| Err(too_late(policy))),
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
            tracing::debug!(model, ?kind, ?delay, "asking the model again");
            failed.push(attempt);
            sleep(delay).await;
        }
    }
}

fn too_late(policy: &RetryPolicy) -> Error {
    let limit = policy.deadline.unwrap_or_default();
    Error::new(
        ErrorKind::Timeout,
        format!("there was no answer within {limit:?}, retries included"),
    )
}

#[async_trait]
impl ChatModel for RetryModel {
    async fn chat(&self, request: &ChatRequest) -> Result<ChatResponse> {
        let (response, failed) = self.ask(|model| model.chat(request)).await?;
        Ok(response.after(&failed, self.name()))
    }

    fn stream<'a>(&'a self, request: &'a ChatRequest) -> BoxStream<'a, Result<ModelStreamEvent>> {
        flatten(async move {
            let (begun, failed) = self.ask(|model| Begun::of(model, request).boxed()).await?;
            Ok(begun.after(failed, self.name()))
        })
    }

    fn capabilities(&self) -> Capabilities {
        self.0.model.capabilities()
    }

    fn name(&self) -> &str {
        self.0.model.name()
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
