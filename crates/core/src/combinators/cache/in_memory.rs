//! A cache in the memory of the process.

use super::{CacheKey, ResponseCache};
use crate::error::Result;
use crate::model::ChatResponse;
use async_trait::async_trait;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Keeps answers in the memory of the process: 1,000 of them by default, for as long as it runs.
///
/// When it is full, the answer that was used least recently makes room. Clones share one cache.
///
/// # Examples
///
/// ```
/// use ai_services::combinators::InMemoryResponseCache;
/// use std::time::Duration;
///
/// let cache = InMemoryResponseCache::builder()
///     .max_entries(10_000)
///     .time_to_live(Duration::from_secs(3_600))
///     .build();
/// assert!(cache.is_empty());
/// ```
#[derive(Clone)]
pub struct InMemoryResponseCache(Arc<Shared>);

struct Shared {
    entries: Mutex<Entries>,
    settings: InMemoryResponseCacheBuilder,
}

#[derive(Default)]
struct Entries {
    by_key: HashMap<CacheKey, Entry>,
    /// The keys by last use.
    by_use: BTreeMap<u64, CacheKey>,
    uses: u64,
}

struct Entry {
    response: ChatResponse,
    stored: Instant,
    /// When it was last used, in the cache's own count.
    used: u64,
}

impl InMemoryResponseCache {
    /// An empty cache.
    #[must_use]
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// Starts a cache.
    pub fn builder() -> InMemoryResponseCacheBuilder {
        InMemoryResponseCacheBuilder { max_entries: 1_000, time_to_live: None }
    }

    /// How many answers are kept, those included whose time has passed and that nobody asked for since.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries().by_key.len()
    }

    /// Whether no answer is kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Forgets all answers.
    pub fn clear(&self) {
        *self.entries() = Entries::default();
    }

    /// No code that can panic runs while it is locked.
    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.0.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entries {
    fn get(&mut self, key: &CacheKey, time_to_live: Option<Duration>) -> Option<ChatResponse> {
        let entry = self.by_key.get_mut(key)?;
        self.by_use.remove(&entry.used);
        if time_to_live.is_some_and(|limit| entry.stored.elapsed() >= limit) {
            self.by_key.remove(key);
            return None;
        }
        self.uses += 1;
        entry.used = self.uses;
        self.by_use.insert(self.uses, *key);
        Some(entry.response.clone())
    }

    fn put(&mut self, key: CacheKey, response: ChatResponse, max: usize) {
        self.uses += 1;
        let entry = Entry { response, stored: Instant::now(), used: self.uses };
        if let Some(old) = self.by_key.insert(key, entry) {
            self.by_use.remove(&old.used);
        }
        self.by_use.insert(self.uses, key);
        while self.by_key.len() > max {
            let Some((_, oldest)) = self.by_use.pop_first() else { return };
            self.by_key.remove(&oldest);
        }
    }
}

#[async_trait]
impl ResponseCache for InMemoryResponseCache {
    async fn get(&self, key: &CacheKey) -> Result<Option<ChatResponse>> {
        Ok(self.entries().get(key, self.0.settings.time_to_live))
    }

    async fn put(&self, key: &CacheKey, response: &ChatResponse) -> Result<()> {
        self.entries().put(*key, response.clone(), self.0.settings.max_entries);
        Ok(())
    }
}

impl Default for InMemoryResponseCache {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for InMemoryResponseCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InMemoryResponseCache")
            .field("entries", &self.len())
            .field("settings", &self.0.settings)
            .finish()
    }
}

/// Builds an [`InMemoryResponseCache`].
#[derive(Clone, Debug)]
#[must_use]
pub struct InMemoryResponseCacheBuilder {
    max_entries: usize,
    time_to_live: Option<Duration>,
}

impl InMemoryResponseCacheBuilder {
    /// Sets how many answers are kept at most: 1,000 by default. With 0 nothing is kept.
    pub fn max_entries(mut self, max: usize) -> Self {
        self.max_entries = max;
        self
    }

    /// Sets how long an answer is kept, counted from when it was given; unlimited by default.
    pub fn time_to_live(mut self, time: Duration) -> Self {
        self.time_to_live = Some(time);
        self
    }

    /// The cache.
    #[must_use]
    pub fn build(self) -> InMemoryResponseCache {
        InMemoryResponseCache(Arc::new(Shared { entries: Mutex::default(), settings: self }))
    }
}
