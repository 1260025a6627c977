//! Asking another model when one fails.

use super::begin::{Begun, flatten, named};
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

type When = dyn Fn(&Error) -> bool + Send + Sync;

/// Asks models in order until one answers.
///
/// The next model is asked after errors against which another provider may help: by default those of
/// the kinds [`Unavailable`](ErrorKind::Unavailable), [`RateLimited`](ErrorKind::RateLimited),
/// [`Connection`](ErrorKind::Connection), [`Timeout`](ErrorKind::Timeout),
/// [`Authentication`](ErrorKind::Authentication), [`Unsupported`](ErrorKind::Unsupported) and
/// [`InvalidResponse`](ErrorKind::InvalidResponse). Each such step is a warning of `tracing`, so that a
/// revoked key is noticed. A request that is wrong stays wrong elsewhere, and what one model refuses is
/// not put to another, unless [`when`](FallbackModelBuilder::when) says so.
///
/// A stream falls back only as long as none of its pieces was told. An error after that ends it.
///
/// The answer's usage counts the failed attempts as well, by model in its
/// [`origin`](ChatResponse::origin); its [`model`](ChatResponse::model) is the one that gave it. The
/// [capabilities](ChatModel::capabilities) are what all models can, because a request is made for all
/// of them; the [name](ChatModel::name) is that of the first. A request whose parameters name a model
/// names it to all of them, so leave that to the clients.
///
/// Clients repeat requests on their own before they give up. Give them few retries, so that the next
/// model is asked soon.
///
/// # Errors
///
/// The error of the last model that was asked. If there were several, its
/// [`FailedAttempts`] are all errors in order, its usage is their sum, and it is retryable if one of
/// them is.
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
    when: Box<When>,
}

impl FallbackModel {
    /// Starts a list of models.
    pub fn builder() -> FallbackModelBuilder {
        FallbackModelBuilder { models: Vec::new(), when: None }
    }

    /// Asks until one answers.
    async fn ask<'a, T: Send>(
        &'a self,
        ask: impl Fn(&'a dyn ChatModel) -> BoxFuture<'a, Result<T>> + Send,
    ) -> Result<(T, &'a dyn ChatModel, Vec<FailedAttempt>)> {
        let mut failed: Vec<FailedAttempt> = Vec::new();
        let mut models = self.0.models.iter().peekable();
        while let Some(model) = models.next() {
            let asking = ask(&**model);
            let error = match asking.await {
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
        Err(Error::configuration("there is no model to ask"))
    }
}

/// The whole may succeed later if one of its parts may.
fn all_failed(earlier: Vec<FailedAttempt>, last: FailedAttempt) -> Error {
    let worth = |attempt: &FailedAttempt| attempt.error.is_retryable();
    let is_retryable = worth(&last) || earlier.iter().any(worth);
    let is_single = earlier.is_empty();
    let error = FailedAttempts::into_error(earlier, last);
    if is_single { error } else { error.with_retryable(is_retryable) }
}

/// Errors against which another provider may help.
fn is_of_the_provider(error: &Error) -> bool {
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
        let (mut response, model, failed) = self.ask(|model| model.chat(request)).await?;
        response.model.get_or_insert_with(|| model.name().into());
        Ok(response.after(&failed, model.name()))
    }

    fn stream<'a>(&'a self, request: &'a ChatRequest) -> BoxStream<'a, Result<ModelStreamEvent>> {
        flatten(async move {
            let (begun, model, failed) =
                self.ask(|model| Begun::of(model, request).boxed()).await?;
            Ok(named(begun.after(failed, model.name()), model.name()))
        })
    }

    fn capabilities(&self) -> Capabilities {
        let all = self.0.models.iter().map(|model| model.capabilities());
        all.reduce(Capabilities::intersection).unwrap_or_default()
    }

    fn name(&self) -> &str {
        self.0.models.first().map_or("unknown", |model| model.name())
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
    when: Option<Box<When>>,
}

impl FallbackModelBuilder {
    /// Adds a model, to be asked when all before it have failed.
    pub fn model(mut self, model: impl ChatModel + 'static) -> Self {
        self.models.push(Arc::new(model));
        self
    }

    /// Sets after which errors the next model is asked, in place of the default.
    pub fn when(mut self, when: impl Fn(&Error) -> bool + Send + Sync + 'static) -> Self {
        self.when = Some(Box::new(when));
        self
    }

    /// The model.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`] if there are no models.
    pub fn build(self) -> Result<FallbackModel> {
        if self.models.is_empty() {
            return Err(Error::configuration(
                "there is no model to fall back to; call `.model(...)` at least once",
            ));
        }
        let when = self.when.unwrap_or_else(|| Box::new(is_of_the_provider));
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
