//! Falling back to another model when one fails.

use super::started_stream::{StartedStream, flatten, with_model_name};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{
    Capabilities, ChatModel, ChatRequest, ChatResponse, FailedAttempt, FailedAttempts,
    ModelEndpoint, ModelStreamEvent,
};
use crate::trace;
use async_trait::async_trait;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use std::fmt;
use std::sync::Arc;

type ErrorPredicate = dyn Fn(&Error) -> bool + Send + Sync;

/// A model that calls other models in order until one answers.
///
/// The next model is called after errors that another provider may not have. By default, these are the errors
/// of the kinds [`Unavailable`](ErrorKind::Unavailable), [`RateLimited`](ErrorKind::RateLimited),
/// [`Connection`](ErrorKind::Connection), [`Timeout`](ErrorKind::Timeout),
/// [`Authentication`](ErrorKind::Authentication), [`Unsupported`](ErrorKind::Unsupported) and
/// [`InvalidResponse`](ErrorKind::InvalidResponse). Each fallback logs a warning with `tracing`, so that a
/// revoked key is noticed. An invalid request is invalid for the other models too, and a request that one
/// model refuses is not sent to another, unless [`when`](FallbackModelBuilder::when) says otherwise.
///
/// A stream falls back only before its first event is delivered. A later error ends the stream.
///
/// The answer's usage includes the failed attempts, listed by model in its [`origin`](ChatResponse::origin).
/// Its [`model`](ChatResponse::model) is the name of the model that answered. The
/// [capabilities](ChatModel::capabilities) are those that all models share, because a request is prepared for
/// all of them. The [name](ChatModel::name) is that of the first model. A model name in the request's
/// parameters applies to all models, so set model names in the clients.
///
/// Clients retry requests on their own before they give up. Configure few retries, so that the next model is
/// called soon.
///
/// # Errors
///
/// Returns the error of the last model that was called. After several attempts, its [`FailedAttempts`] lists
/// all errors in order, its usage is their sum, and it is retryable if one of them is.
///
/// # Examples
///
/// ```
/// use ai_services::ErrorKind;
/// use ai_services::combinators::FallbackModel;
/// use ai_services::message::ChatMessage;
/// use ai_services::model::{ChatModel, ChatRequest};
/// use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> ai_services::Result<()> {
/// let first = ScriptedAnswer::error(ErrorKind::Unavailable, "overloaded");
/// let model = FallbackModel::builder()
///     .model(ScriptedChatModel::new([first]))
///     .model(ScriptedChatModel::replies(["Hello."]))
///     .build()?;
/// let response = model.chat(&ChatRequest::new([ChatMessage::user("Hi!")])).await?;
/// assert_eq!(response.message.text(), Some("Hello."));
/// assert_eq!(response.attempts, Some(2));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct FallbackModel(Arc<Inner>);

struct Inner {
    models: Vec<Arc<dyn ChatModel>>,
    when: Box<ErrorPredicate>,
}

impl FallbackModel {
    /// Starts building a fallback.
    pub fn builder() -> FallbackModelBuilder {
        FallbackModelBuilder { models: Vec::new(), when: None }
    }

    /// Calls the models in order until one answers.
    async fn call_models<'a, T: Send>(
        &'a self,
        call: impl Fn(&'a dyn ChatModel) -> BoxFuture<'a, Result<T>> + Send,
    ) -> Result<(T, &'a dyn ChatModel, Vec<FailedAttempt>)> {
        let mut failed: Vec<FailedAttempt> = Vec::new();
        let mut models = self.0.models.iter().peekable();
        while let Some(model) = models.next() {
            let calling = call(&**model);
            let error = match calling.await {
                Ok(answer) => return Ok((answer, &**model, failed)),
                Err(error) => error,
            };
            let next = models.peek().filter(|_| (self.0.when)(&error));
            let attempt = FailedAttempt::new(model.name(), error);
            let Some(next) = next else { return Err(all_failed(failed, attempt)) };
            let (from, to, kind) = (model.name(), next.name(), attempt.error.kind());
            tracing::warn!(from, to, ?kind, "falling back to the next model");
            failed.push(attempt);
        }
        Err(Error::configuration("the fallback has no models"))
    }
}

/// Combines the errors of all attempts. The result is retryable if one of them is.
fn all_failed(earlier: Vec<FailedAttempt>, last: FailedAttempt) -> Error {
    let is_worth_retrying = |attempt: &FailedAttempt| attempt.error.is_retryable();
    let is_retryable = is_worth_retrying(&last) || earlier.iter().any(is_worth_retrying);
    let is_single = earlier.is_empty();
    let error = FailedAttempts::into_error(earlier, last);
    if is_single { error } else { error.with_retryable(is_retryable) }
}

/// Returns whether another provider may succeed after this error.
fn is_provider_error(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Unavailable
            | ErrorKind::RateLimited
            | ErrorKind::Connection
            | ErrorKind::Timeout
            | ErrorKind::Authentication
            | ErrorKind::Unsupported
            | ErrorKind::InvalidResponse
    )
}

#[async_trait]
impl ChatModel for FallbackModel {
    async fn chat(&self, request: &ChatRequest) -> Result<ChatResponse> {
        let (mut response, model, failed) =
            self.call_models(|model| trace::chat(model, request).boxed()).await?;
        response.model.get_or_insert_with(|| model.name().into());
        Ok(response.after(&failed, model.name()))
    }

    fn stream<'a>(&'a self, request: &'a ChatRequest) -> BoxStream<'a, Result<ModelStreamEvent>> {
        flatten(async move {
            let (started, model, failed) = self
                .call_models(|model| StartedStream::start(trace::stream(model, request)).boxed())
                .await?;
            Ok(with_model_name(started.into_events(failed, model.name()), model.name()))
        })
    }

    fn capabilities(&self) -> Capabilities {
        let all = self.0.models.iter().map(|model| model.capabilities());
        all.reduce(Capabilities::intersection).unwrap_or_default()
    }

    fn name(&self) -> &str {
        self.0.models.first().map_or("unknown", |model| model.name())
    }

    fn endpoint(&self) -> ModelEndpoint<'_> {
        self.0.models.first().map(|model| model.endpoint()).unwrap_or_default().delegating()
    }
}

impl fmt::Debug for FallbackModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.0.models.iter().map(|model| model.name());
        f.debug_tuple("FallbackModel").field(&names.collect::<Vec<_>>()).finish()
    }
}

/// Builds a [`FallbackModel`].
#[must_use]
pub struct FallbackModelBuilder {
    models: Vec<Arc<dyn ChatModel>>,
    when: Option<Box<ErrorPredicate>>,
}

impl FallbackModelBuilder {
    /// Adds a model that is called after all earlier models have failed.
    pub fn model(mut self, model: impl ChatModel + 'static) -> Self {
        self.models.push(Arc::new(model));
        self
    }

    /// Sets the predicate for errors after which the next model is called, in place of the default.
    pub fn when(mut self, when: impl Fn(&Error) -> bool + Send + Sync + 'static) -> Self {
        self.when = Some(Box::new(when));
        self
    }

    /// Builds the model.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Configuration`] without models.
    pub fn build(self) -> Result<FallbackModel> {
        if self.models.is_empty() {
            return Err(Error::configuration(
                "the fallback has no models; call `.model(...)` at least once",
            ));
        }
        let when = self.when.unwrap_or_else(|| Box::new(is_provider_error));
        Ok(FallbackModel(Arc::new(Inner { models: self.models, when })))
    }
}

impl fmt::Debug for FallbackModelBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FallbackModelBuilder")
            .field("models", &self.models.len())
            .finish_non_exhaustive()
    }
}
