//! Models made of models: fallback, routing, retries, rate limits, caches, recordings.
//!
//! Each is a [`ChatModel`](crate::model::ChatModel) around others, so they nest, and a service takes any
//! of them. None depends on a provider.
//!
//! | to | use |
//! |---|---|
//! | ask another model when one fails | [`FallbackModel`] |
//! | choose the model by the request | [`RouterModel`] |
//! | ask again | [`RetryModel`] |
//! | keep the limits of an account | [`RateLimitedModel`] |
//! | not ask twice for the same | [`CachedModel`] |
//! | test against answers that a model once gave | [`RecordingModel`], [`ReplayModel`] |
//!
//! # Order
//!
//! What is outside sees less. A usual nest, outermost first: cache, fallback, retry, rate limit, client.
//! So a cached answer needs no limit, every attempt is counted by the limit of its provider, and the next
//! provider is asked when the attempts at one are used up.
//!
//! # Examples
//!
//! ```
//! use ai_services::ai_service;
//! use ai_services::combinators::{
//!     CachedModel, FallbackModel, InMemoryResponseCache, RateLimitedModel, RateLimiter, RetryModel,
//!     RetryPolicy,
//! };
//! # use ai_services::testing::ScriptedChatModel;
//!
//! #[ai_service]
//! trait Assistant {
//!     async fn chat(&self, message: &str) -> ai_services::Result<String>;
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> ai_services::Result<()> {
//! # let (first, second) = (ScriptedChatModel::replies(["Hi."]), ScriptedChatModel::replies(["Hello."]));
//! let limiter = RateLimiter::builder().requests_per_minute(500).build()?;
//! let first = RetryModel::new(RateLimitedModel::new(first, limiter), RetryPolicy::new());
//! let model = FallbackModel::builder().model(first).model(second).build()?;
//! let model = CachedModel::new(model, InMemoryResponseCache::new());
//! let assistant = AssistantService::builder().chat_model(model).build()?;
//! assert_eq!(assistant.chat("Hello!").await?, "Hi.");
//! assert_eq!(assistant.chat("Hello!").await?, "Hi."); // from the cache
//! # Ok(())
//! # }
//! ```

mod begin;
mod cache;
#[doc(hidden)]
pub mod canonical;
mod fallback;
mod rate;
mod retry;
mod router;

pub use cache::{
    CacheErrorPolicy, CacheKey, CachedModel, CachedModelBuilder, InMemoryResponseCache,
    InMemoryResponseCacheBuilder, ResponseCache, StoreResponseCache,
};
pub use fallback::{FallbackModel, FallbackModelBuilder};
pub use rate::{RateLimitedModel, RateLimiter, RateLimiterBuilder};
pub use retry::{Jitter, RetryModel, RetryPolicy};
pub use router::{RouterModel, RouterModelBuilder};
