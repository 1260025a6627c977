//! Caching of answers.

mod in_flight;
mod in_memory;
mod key;
mod store;

pub use in_memory::{InMemoryResponseCache, InMemoryResponseCacheBuilder};
pub use key::CacheKey;
pub use store::StoreResponseCache;

use super::started_stream::flatten;
use crate::error::Result;
use crate::forward::forward_through_arc;
use crate::model::{
    AnswerOrigin, CachedCopy, Capabilities, ChatModel, ChatRequest, ChatResponse, DiscardCopy,
    FinishReason, ModelEndpoint, ModelStreamEvent, TokenUsage, pieces,
};
use async_trait::async_trait;
use futures_util::stream::{self, BoxStream, StreamExt};
use in_flight::{InFlightRequests, RequestRole};
use std::fmt;
use std::sync::Arc;

/// A cache of answers by request.
///
/// Implementations carry `#[ai_services::async_trait]`. Without it, the compiler reports that "lifetime
/// parameters or bounds on method … do not match the trait declaration".
///
/// # Examples
///
/// ```
/// use ai_services::combinators::{CacheKey, ResponseCache};
/// use ai_services::model::ChatResponse;
/// use std::collections::HashMap;
/// use std::sync::Mutex;
///
/// #[derive(Default)]
/// struct Unbounded(Mutex<HashMap<CacheKey, ChatResponse>>);
///
/// #[ai_services::async_trait]
/// impl ResponseCache for Unbounded {
///     async fn get(&self, key: &CacheKey) -> ai_services::Result<Option<ChatResponse>> {
///         Ok(self.0.lock().unwrap().get(key).cloned())
///     }
///
///     async fn put(&self, key: &CacheKey, response: &ChatResponse) -> ai_services::Result<()> {
///         self.0.lock().unwrap().insert(*key, response.clone());
///         Ok(())
///     }
///
///     async fn remove(&self, key: &CacheKey) -> ai_services::Result<()> {
///         self.0.lock().unwrap().remove(key);
///         Ok(())
///     }
/// }
/// ```
#[async_trait]
pub trait ResponseCache: Send + Sync {
    /// Returns the answer that was [stored](Self::put) for this key.
    ///
    /// # Errors
    ///
    /// Return an error if the cache cannot be read or contains a malformed answer.
    async fn get(&self, key: &CacheKey) -> Result<Option<ChatResponse>>;

    /// Stores an answer and replaces an earlier one of this key.
    ///
    /// # Errors
    ///
    /// Return an error if the cache cannot be written.
    async fn put(&self, key: &CacheKey, response: &ChatResponse) -> Result<()>;

    /// Removes the answer of this key, because it was rejected. Has no effect if there is none.
    ///
    /// # Errors
    ///
    /// Return an error if the cache cannot be written.
    async fn remove(&self, key: &CacheKey) -> Result<()>;
}

forward_through_arc! {
    ResponseCache {
        async fn get<'a, 'b>(&'a self, key: &'b CacheKey) -> Result<Option<ChatResponse>>;
        async fn put<'a, 'b, 'c>(&'a self, key: &'b CacheKey, response: &'c ChatResponse) -> Result<()>;
        async fn remove<'a, 'b>(&'a self, key: &'b CacheKey) -> Result<()>;
    }
}

/// Reaction to errors of a cache.
///
/// # Examples
///
/// ```
/// use ai_services::combinators::{CacheErrorPolicy, CachedModel, StoreResponseCache};
/// use ai_services::memory::InMemoryChatMemoryStore;
/// # use ai_services::testing::ScriptedChatModel;
/// # let model = ScriptedChatModel::replies(["Hi."]);
/// let cache = StoreResponseCache::new(InMemoryChatMemoryStore::new());
/// let model =
///     CachedModel::builder(model, cache).cache_errors(CacheErrorPolicy::Fail).build();
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CacheErrorPolicy {
    /// Calls the model as after a cache miss, and logs a warning with `tracing`.
    #[default]
    Ignore,
    /// Fails the call, even if the model has answered and only storing the answer fails.
    Fail,
}

/// A model that answers equal requests from a cache.
///
/// Requests are equal if their messages, tools and parameters are equal and their model has the same
/// [name](ChatModel::name); see [`CacheKey`]. Other settings of a client are not part of the key: if models
/// with the same name share a cache but differ in their settings, give each a
/// [`namespace`](CachedModelBuilder::namespace).
///
/// Only complete answers are stored: answers that ended with [`FinishReason::Stop`] or
/// [`FinishReason::ToolExecution`] and are not a refusal. An answer from the cache has the
/// [origin](ChatResponse::origin) [`AnswerOrigin::Cache`], no usage and no attempts: it costs nothing.
///
/// In an AI service, an answer that is rejected is removed from the cache: an output guardrail or the moderation
/// objected to it, or it cannot be parsed. The [retry](ChatRequest::is_retry) of a request whose answer was
/// rejected is not answered from the cache. Exception: an answer stays in the cache if a chunk guardrail blocks
/// it while it is streamed from there.
///
/// Requests are cached at any temperature, although the model might answer differently the next time, because
/// most requests do not set a temperature. Use [`cache_request_if`](CachedModelBuilder::cache_request_if) to select the
/// requests to cache.
///
/// A stream delivers a cached answer in a few large pieces, and stores an answer once it is complete. Of
/// equal concurrent calls of [`chat`](ChatModel::chat), one calls the model and the others wait for it; if it
/// fails or is dropped, each of the others calls the model. Streams do not wait for each other.
///
/// # Examples
///
/// ```
/// use ai_services::combinators::{CachedModel, InMemoryResponseCache};
/// use ai_services::message::ChatMessage;
/// use ai_services::model::{AnswerOrigin, ChatModel, ChatRequest};
/// use ai_services::testing::ScriptedChatModel;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> ai_services::Result<()> {
/// let model = CachedModel::new(ScriptedChatModel::replies(["Hi."]), InMemoryResponseCache::new());
/// let request = ChatRequest::new([ChatMessage::user("Hello!")]);
/// assert_eq!(model.chat(&request).await?.origin, AnswerOrigin::Model);
/// let again = model.chat(&request).await?;
/// assert_eq!((again.message.text(), again.origin), (Some("Hi."), AnswerOrigin::Cache));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct CachedModel(Arc<Inner>);

type RequestFilter = dyn Fn(&ChatRequest) -> bool + Send + Sync;
type ResponseFilter = dyn Fn(&ChatResponse) -> bool + Send + Sync;

struct Inner {
    model: Box<dyn ChatModel>,
    cache: Box<dyn ResponseCache>,
    namespace: Box<str>,
    requests: Box<RequestFilter>,
    answers: Box<ResponseFilter>,
    errors: CacheErrorPolicy,
    in_flight: InFlightRequests,
}

impl CachedModel {
    /// Creates a model that caches the answers of `model` in `cache`.
    pub fn new(model: impl ChatModel + 'static, cache: impl ResponseCache + 'static) -> Self {
        Self::builder(model, cache).build()
    }

    /// Starts building a model with a cache.
    pub fn builder(
        model: impl ChatModel + 'static,
        cache: impl ResponseCache + 'static,
    ) -> CachedModelBuilder {
        CachedModelBuilder(Inner {
            model: Box::new(model),
            cache: Box::new(cache),
            namespace: "".into(),
            requests: Box::new(|_| true),
            answers: Box::new(is_complete),
            errors: CacheErrorPolicy::Ignore,
            in_flight: InFlightRequests::default(),
        })
    }

    /// Returns the key of a request, or `None` if the request is not cached.
    fn key(&self, request: &ChatRequest) -> Result<Option<CacheKey>> {
        if !(self.0.requests)(request) {
            return Ok(None);
        }
        CacheKey::of(request, self.name(), &self.0.namespace).map(Some)
    }

    async fn lookup(&self, key: &CacheKey) -> Result<Option<ChatResponse>> {
        let found = match self.0.cache.get(key).await {
            Err(error) if self.0.errors == CacheErrorPolicy::Ignore => {
                tracing::warn!(%error, %key, "the response cache cannot be read");
                None
            }
            found => found?,
        };
        Ok(found.map(|mut response| {
            response.usage = TokenUsage::default();
            response.attempts = None;
            response.origin = AnswerOrigin::Cache;
            self.with_copy(key, response)
        }))
    }

    /// Stores an answer if it is complete, and returns it.
    async fn store(&self, key: &CacheKey, response: ChatResponse) -> Result<ChatResponse> {
        if response.origin == AnswerOrigin::Cache || !(self.0.answers)(&response) {
            return Ok(response);
        }
        self.tolerate(key, self.0.cache.put(key, &response).await)?;
        Ok(self.with_copy(key, response))
    }

    /// Logs an error of writing the cache, unless it must fail the call.
    fn tolerate(&self, key: &CacheKey, written: Result<()>) -> Result<()> {
        match written {
            Err(error) if self.0.errors == CacheErrorPolicy::Ignore => {
                tracing::warn!(%error, %key, "the response cache cannot be written");
                Ok(())
            }
            written => written,
        }
    }

    fn with_copy(&self, key: &CacheKey, mut response: ChatResponse) -> ChatResponse {
        let inner = response.cached_copy.take();
        let copy = StoredAnswer { model: self.clone(), key: *key, inner };
        response.cached_copy = Some(CachedCopy::new(copy));
        response
    }
}

/// The copy of an answer in the cache of a model.
struct StoredAnswer {
    model: CachedModel,
    key: CacheKey,
    /// The copy in the cache of the model inside this one.
    inner: Option<CachedCopy>,
}

#[async_trait]
impl DiscardCopy for StoredAnswer {
    async fn discard(&self) -> Result<()> {
        let Self { model, key, inner } = self;
        model.tolerate(key, model.0.cache.remove(key).await)?;
        match inner {
            Some(inner) => inner.discard().await,
            None => Ok(()),
        }
    }
}

fn is_complete(response: &ChatResponse) -> bool {
    let is_finished =
        matches!(response.finish_reason, Some(FinishReason::Stop | FinishReason::ToolExecution));
    is_finished && response.message.refusal().is_none()
}

#[async_trait]
impl ChatModel for CachedModel {
    async fn chat(&self, request: &ChatRequest) -> Result<ChatResponse> {
        let Some(key) = self.key(request)? else { return self.0.model.chat(request).await };
        if request.is_retry() {
            return self.store(&key, self.0.model.chat(request).await?).await;
        }
        if let Some(response) = self.lookup(&key).await? {
            return Ok(response);
        }
        let role = self.0.in_flight.join(key);
        let leader = match role {
            RequestRole::Leader(leader) => Some(leader),
            RequestRole::Follower(follower) => {
                follower.leader_done().await;
                None
            }
        };
        // Another leader may have finished just before.
        if let Some(response) = self.lookup(&key).await? {
            return Ok(response);
        }
        let response = self.store(&key, self.0.model.chat(request).await?).await?;
        drop(leader);
        Ok(response)
    }

    fn stream<'a>(&'a self, request: &'a ChatRequest) -> BoxStream<'a, Result<ModelStreamEvent>> {
        flatten(async move {
            let Some(key) = self.key(request)? else { return Ok(self.0.model.stream(request)) };
            if !request.is_retry()
                && let Some(response) = self.lookup(&key).await?
            {
                return Ok(stream::iter(pieces(response)).map(Ok).boxed());
            }
            let events = self.0.model.stream(request).then(move |event| async move {
                match event {
                    Ok(ModelStreamEvent::Completed(response)) => {
                        let response = self.store(&key, *response).await?;
                        Ok(ModelStreamEvent::Completed(Box::new(response)))
                    }
                    other => other,
                }
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

impl fmt::Debug for CachedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CachedModel").field("model", &self.name()).finish_non_exhaustive()
    }
}

/// Builds a [`CachedModel`].
#[must_use]
pub struct CachedModelBuilder(Inner);

impl CachedModelBuilder {
    /// Sets a namespace that separates these answers from those of other models with the same name in the
    /// same cache. Default: empty.
    pub fn namespace(mut self, namespace: impl Into<Box<str>>) -> Self {
        self.0.namespace = namespace.into();
        self
    }

    /// Sets the requests that are cached. Default: all.
    ///
    /// ```
    /// # use ai_services::combinators::{CachedModel, InMemoryResponseCache};
    /// # use ai_services::testing::ScriptedChatModel;
    /// # let (model, cache) = (ScriptedChatModel::replies(["Hi."]), InMemoryResponseCache::new());
    /// let model = CachedModel::builder(model, cache)
    ///     .cache_request_if(|request| request.parameters().temperature == Some(0.0))
    ///     .build();
    /// ```
    pub fn cache_request_if(
        mut self,
        is_cached: impl Fn(&ChatRequest) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.0.requests = Box::new(is_cached);
        self
    }

    /// Sets the answers that are stored, in place of complete ones.
    pub fn cache_answer_if(
        mut self,
        is_kept: impl Fn(&ChatResponse) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.0.answers = Box::new(is_kept);
        self
    }

    /// Sets the reaction to errors of the cache. Default: [`CacheErrorPolicy::Ignore`].
    pub fn cache_errors(mut self, policy: CacheErrorPolicy) -> Self {
        self.0.errors = policy;
        self
    }

    /// Builds the model.
    #[must_use]
    pub fn build(self) -> CachedModel {
        CachedModel(Arc::new(self.0))
    }
}

impl fmt::Debug for CachedModelBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CachedModelBuilder")
            .field("model", &self.0.model.name())
            .field("namespace", &self.0.namespace)
            .finish_non_exhaustive()
    }
}
