//! Models that wrap other models: fallback, routing, retries, rate limits, caches, recordings, think
//! blocks.
//!
//! Each is a [`ChatModel`](crate::model::ChatModel) around others, so they nest, and an AI service accepts
//! any of them. They do not depend on a provider.
//!
//! | goal | type |
//! |---|---|
//! | call another model when one fails | [`FallbackModel`] |
//! | choose the model by the request | [`RouterModel`] |
//! | retry failed requests | [`RetryModel`] |
//! | respect the rate limits of an account | [`RateLimitedModel`] |
//! | answer equal requests from a cache | [`CachedModel`] |
//! | take `<think>` blocks out of answers | [`ThinkBlockModel`] |
//! | test against recorded answers | `RecordingModel`, `ReplayModel` (feature `testing`) |
//!
//! # Order
//!
//! Outer models intercept requests before inner ones. The usual order, outermost first: cache, fallback,
//! retry, rate limit, client. A cached answer then needs no rate limit, every attempt counts for the rate
//! limit of its provider, and the next provider is called once the attempts at one are exhausted.
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

#[doc(inline)]
pub use ai_services_core::combinators::*;
#[cfg(feature = "testing")]
#[cfg_attr(docsrs, doc(cfg(feature = "testing")))]
#[doc(inline)]
pub use ai_services_testkit::{
    CorruptCassette, ExistingCassette, NotRecorded, RecordingModel, RecordingModelBuilder,
    ReplayModel, ReplayModelBuilder, ReplayOrder, ReplayUse, WriteErrorPolicy,
};
