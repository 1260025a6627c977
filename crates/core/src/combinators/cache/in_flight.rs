//! Deduplication of equal requests that run concurrently.

use super::CacheKey;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Semaphore;

/// Requests that are running, by key.
#[derive(Default)]
pub(super) struct InFlightRequests(Mutex<HashMap<CacheKey, Arc<Semaphore>>>);

/// Role of a request among equal concurrent ones.
pub(super) enum RequestRole<'a> {
    Leader(Leader<'a>),
    Follower(Follower),
}

/// The first request, which calls the model. Dropping it releases its followers, whatever the outcome.
pub(super) struct Leader<'a> {
    requests: &'a InFlightRequests,
    key: CacheKey,
    done: Arc<Semaphore>,
}

/// A later request, which waits for the leader.
pub(super) struct Follower(Arc<Semaphore>);

impl InFlightRequests {
    pub(super) fn join(&self, key: CacheKey) -> RequestRole<'_> {
        let mut requests = self.lock();
        if let Some(done) = requests.get(&key) {
            return RequestRole::Follower(Follower(Arc::clone(done)));
        }
        let done = Arc::new(Semaphore::new(0));
        requests.insert(key, Arc::clone(&done));
        RequestRole::Leader(Leader { requests: self, key, done })
    }

    /// Locks the map. Code under the lock cannot panic, so that a poisoned lock is safe to use.
    fn lock(&self) -> MutexGuard<'_, HashMap<CacheKey, Arc<Semaphore>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Follower {
    pub(super) async fn leader_done(self) {
        // The semaphore never has permits; it is closed when the leader is done.
        let _ = self.0.acquire().await;
    }
}

impl Drop for Leader<'_> {
    fn drop(&mut self) {
        self.requests.lock().remove(&self.key);
        self.done.close();
    }
}
