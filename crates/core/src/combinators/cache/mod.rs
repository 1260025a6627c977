//! Not asking twice for the same.

mod flight;
mod in_memory;
mod key;
mod store;

pub use in_memory::{InMemoryResponseCache, InMemoryResponseCacheBuilder};
pub use key::CacheKey;
pub use store::StoreResponseCache;

use super::begin::flatten;
use crate::error::Result;
use crate::model::{
    AnswerOrigin, Capabilities, ChatModel, ChatRequest, ChatResponse, FinishReason,
    ModelStreamEvent, TokenUsage, pieces,
};
use async_trait::async_trait;
use flight::{Flight, Flights};
use futures_util::stream::{self, BoxStream, StreamExt};
use std::fmt;
use std::sync::Arc;

/// Keeps answers by the requests that they answer.
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
/// }
/// ```
#[async_trait]
pub trait ResponseCache: Send + Sync {
    /// The answer of this key, as it was [put](Self::put).
    ///
    /// # Errors
    ///
    /// If the cache cannot be read, or what it has is not an answer.
    async fn get(&self, key: &CacheKey) -> Result<Option<ChatResponse>>;

    /// Keeps an answer, in place of what the key had.
    ///
    /// # Errors
    ///
    /// If the cache cannot be written.
    async fn put(&self, key: &CacheKey, response: &ChatResponse) -> Result<()>;
}

#[async_trait]
impl<C: ResponseCache + ?Sized> ResponseCache for Arc<C> {
    async fn get(&self, key: &CacheKey) -> Result<Option<ChatResponse>> {
        C::get(self, key).await
    }

    async fn put(&self, key: &CacheKey, response: &ChatResponse) -> Result<()> {
        C::put(self, key, response).await
    }
}

/// What happens when a cache fails.
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
    /// The model is asked as if nothing was found, and the failure is a warning of `tracing`.
    #[default]
    Ignore,
    /// The call fails; also when an answer was given and cannot be kept.
    Fail,
}

/// Asks a model only what it was not asked before.
///
/// A request is found again if its messages, tools and parameters are equal and it goes to a model of
/// the same [name](ChatModel::name); see [`CacheKey`]. What a client is configured with beside its name
/// is not known here: give models that share a cache and differ in more a
/// [`namespace`](CachedModelBuilder::namespace).
///
/// Kept are answers that are whole: those that ended with [`FinishReason::Stop`] or
/// [`FinishReason::ToolExecution`] and are no refusal. An answer from the cache has the
/// [origin](ChatResponse::origin) [`AnswerOrigin::Cache`], no usage and no attempts: it costs nothing.
///
/// Requests are cached whatever their temperature is, although the model might have answered
/// differently: most requests set none, and whoever puts a cache around a model wants it used.
/// [`requests`](CachedModelBuilder::requests) chooses.
///
/// A stream tells a cached answer as few large pieces, and is kept when it was told to its end. Of equal
/// calls of [`chat`](ChatModel::chat) at the same time, one asks the model and the others wait for it; if
/// it fails or is dropped, each asks for itself. Streams do not wait for each other.
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

type Requests = dyn Fn(&ChatRequest) -> bool + Send + Sync;
type Answers = dyn Fn(&ChatResponse) -> bool + Send + Sync;

struct Inner {
    model: Box<dyn ChatModel>,
    cache: Box<dyn ResponseCache>,
    namespace: Box<str>,
    requests: Box<Requests>,
    answers: Box<Answers>,
    errors: CacheErrorPolicy,
    flights: Flights,
}

impl CachedModel {
    /// Keeps the answers of `model` in `cache`.
    pub fn new(model: impl ChatModel + 'static, cache: impl ResponseCache + 'static) -> Self {
        Self::builder(model, cache).build()
    }

    /// Starts a model with a cache.
    pub fn builder(
        model: impl ChatModel + 'static,
        cache: impl ResponseCache + 'static,
    ) -> CachedModelBuilder {
        CachedModelBuilder(Inner {
            model: Box::new(model),
            cache: Box::new(cache),
            namespace: "".into(),
            requests: Box::new(|_| true),
            answers: Box::new(is_whole),
            errors: CacheErrorPolicy::Ignore,
            flights: Flights::default(),
        })
    }

    /// The key of a request; `None` if it is not to be cached.
    fn key(&self, request: &ChatRequest) -> Result<Option<CacheKey>> {
        match (self.0.requests)(request) {
            true => CacheKey::of(request, self.name(), &self.0.namespace).map(Some),
            false => Ok(None),
        }
    }

    async fn find(&self, key: &CacheKey) -> Result<Option<ChatResponse>> {
        let found = match self.0.cache.get(key).await {
            Err(error) if self.0.errors == CacheErrorPolicy::Ignore => {
                tracing::warn!(%error, %key, "the cache of answers cannot be read");
                None
            }
            found => found?,
        };
        Ok(found.map(|mut response| {
            response.usage = TokenUsage::default();
            response.attempts = None;
            response.origin = AnswerOrigin::Cache;
            response
        }))
    }

    async fn keep(&self, key: &CacheKey, response: &ChatResponse) -> Result<()> {
        if response.origin == AnswerOrigin::Cache || !(self.0.answers)(response) {
            return Ok(());
        }
        match self.0.cache.put(key, response).await {
            Err(error) if self.0.errors == CacheErrorPolicy::Ignore => {
                tracing::warn!(%error, %key, "the cache of answers cannot be written");
                Ok(())
            }
            kept => kept,
        }
    }
}

fn is_whole(response: &ChatResponse) -> bool {
    let is_complete =
        matches!(response.finish_reason, Some(FinishReason::Stop | FinishReason::ToolExecution));
    is_complete && response.message.refusal().is_none()
}

#[async_trait]
impl ChatModel for CachedModel {
    async fn chat(&self, request: &ChatRequest) -> Result<ChatResponse> {
        let Some(key) = self.key(request)? else { return self.0.model.chat(request).await };
        if let Some(response) = self.find(&key).await? {
            return Ok(response);
        }
        let flight = self.0.flights.join(key);
        let leader = match flight {
            Flight::Leads(leader) => Some(leader),
            Flight::Follows(follower) => {
                follower.landing().await;
                None
            }
        };
        // Another leader may have landed just before.
        if let Some(response) = self.find(&key).await? {
            return Ok(response);
        }
        let response = self.0.model.chat(request).await?;
        self.keep(&key, &response).await?;
        drop(leader);
        Ok(response)
    }

    fn stream<'a>(&'a self, request: &'a ChatRequest) -> BoxStream<'a, Result<ModelStreamEvent>> {
        flatten(async move {
            let Some(key) = self.key(request)? else { return Ok(self.0.model.stream(request)) };
            if let Some(response) = self.find(&key).await? {
                return Ok(stream::iter(pieces(response)).map(Ok).boxed());
            }
            let events = self.0.model.stream(request).then(move |event| async move {
                if let Ok(ModelStreamEvent::Completed(response)) = &event {
                    self.keep(&key, response).await?;
                }
                event
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
    /// Sets what tells these answers from those of other models in the same cache that have the same
    /// name. Empty by default.
    pub fn namespace(mut self, namespace: impl Into<Box<str>>) -> Self {
        self.0.namespace = namespace.into();
        self
    }

    /// Sets which requests are looked up and kept: all by default.
    ///
    /// ```
    /// # use ai_services::combinators::{CachedModel, InMemoryResponseCache};
    /// # use ai_services::testing::ScriptedChatModel;
    /// # let (model, cache) = (ScriptedChatModel::replies(["Hi."]), InMemoryResponseCache::new());
    /// let model = CachedModel::builder(model, cache)
    ///     .requests(|request| request.parameters().temperature == Some(0.0))
    ///     .build();
    /// ```
    pub fn requests(
        mut self,
        is_cached: impl Fn(&ChatRequest) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.0.requests = Box::new(is_cached);
        self
    }

    /// Sets which answers are kept, in place of those that are whole.
    pub fn answers(
        mut self,
        is_kept: impl Fn(&ChatResponse) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.0.answers = Box::new(is_kept);
        self
    }

    /// Sets what happens when the cache fails: the model is asked by default.
    pub fn cache_errors(mut self, policy: CacheErrorPolicy) -> Self {
        self.0.errors = policy;
        self
    }

    /// The model.
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
