//! Models that wrap other models: fallback, routing, retries, rate limits, caches, think
//! blocks.
//!
//! Each is a [`ChatModel`](crate::model::ChatModel) around others, so they nest. They do not depend on a
//! provider.

mod cache;
#[doc(hidden)]
pub mod canonical;
mod fallback;
mod rate;
mod retry;
mod router;
mod started_stream;
mod think_block;

pub use cache::{
    CacheErrorPolicy, CacheKey, CachedModel, CachedModelBuilder, InMemoryResponseCache,
    InMemoryResponseCacheBuilder, ResponseCache, StoreResponseCache,
};
pub use fallback::{FallbackModel, FallbackModelBuilder};
pub use rate::{RateLimitedModel, RateLimiter, RateLimiterBuilder};
pub use retry::{Jitter, RetryModel, RetryPolicy};
pub use router::{RouterModel, RouterModelBuilder};
pub use think_block::ThinkBlockModel;
