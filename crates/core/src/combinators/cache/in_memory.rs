//! A response cache in the memory of the process.

use super::{CacheKey, ResponseCache};
use crate::error::Result;
use crate::model::ChatResponse;
use async_trait::async_trait;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// A response cache in memory. Default: at most 1,000 answers, without a time limit.
///
/// A full cache evicts the least recently used answer. Clones share one cache.
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
pub struct InMemoryResponseCache(Arc<SharedCache>);

struct SharedCache {
    entries: Mutex<Entries>,
    settings: InMemoryResponseCacheBuilder,
}

#[derive(Default)]
struct Entries {
    by_key: HashMap<CacheKey, Entry>,
    /// Keys in the order of last use.
    by_last_use: BTreeMap<u64, CacheKey>,
    uses: u64,
}

struct Entry {
    response: ChatResponse,
    stored: Instant,
    /// Sequence number of the last use.
    last_used: u64,
}

impl InMemoryResponseCache {
    /// Creates an empty cache with the defaults.
    #[must_use]
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// Starts building a cache.
    pub fn builder() -> InMemoryResponseCacheBuilder {
        InMemoryResponseCacheBuilder { max_entries: 1_000, time_to_live: None }
    }

    /// Returns the number of answers, including expired ones that were not looked up since.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries().by_key.len()
    }

    /// Returns `true` if the cache contains no answers.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Removes all answers.
    pub fn clear(&self) {
        *self.entries() = Entries::default();
    }

    /// Locks the entries. Code under the lock cannot panic, so that a poisoned lock is safe to use.
    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.0.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entries {
    fn get(&mut self, key: &CacheKey, time_to_live: Option<Duration>) -> Option<ChatResponse> {
        let entry = self.by_key.get_mut(key)?;
        self.by_last_use.remove(&entry.last_used);
        if time_to_live.is_some_and(|limit| entry.stored.elapsed() >= limit) {
            self.by_key.remove(key);
            return None;
        }
        self.uses += 1;
        entry.last_used = self.uses;
        self.by_last_use.insert(self.uses, *key);
        Some(entry.response.clone())
    }

    fn remove(&mut self, key: &CacheKey) {
        if let Some(entry) = self.by_key.remove(key) {
            self.by_last_use.remove(&entry.last_used);
        }
    }

    fn put(&mut self, key: CacheKey, response: ChatResponse, max: usize) {
        self.uses += 1;
        let entry = Entry { response, stored: Instant::now(), last_used: self.uses };
        if let Some(old) = self.by_key.insert(key, entry) {
            self.by_last_use.remove(&old.last_used);
        }
        self.by_last_use.insert(self.uses, key);
        while self.by_key.len() > max {
            let Some((_, oldest)) = self.by_last_use.pop_first() else { return };
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

    async fn remove(&self, key: &CacheKey) -> Result<()> {
        self.entries().remove(key);
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
    /// Sets the maximum number of answers. Default: 1,000. 0 disables the cache.
    pub fn max_entries(mut self, max: usize) -> Self {
        self.max_entries = max;
        self
    }

    /// Sets how long an answer is used after it was stored. Default: unlimited.
    pub fn time_to_live(mut self, time: Duration) -> Self {
        self.time_to_live = Some(time);
        self
    }

    /// Builds the cache.
    #[must_use]
    pub fn build(self) -> InMemoryResponseCache {
        InMemoryResponseCache(Arc::new(SharedCache { entries: Mutex::default(), settings: self }))
    }
}
