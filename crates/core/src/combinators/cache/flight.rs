//! Equal requests that are made at the same time.

use super::CacheKey;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Semaphore;

/// The requests that are being answered.
#[derive(Default)]
pub(super) struct Flights(Mutex<HashMap<CacheKey, Arc<Semaphore>>>);

/// Whether a request is the first of its kind.
pub(super) enum Flight<'a> {
    Leads(Leader<'a>),
    Follows(Follower),
}

/// Asks the model. When it is dropped, its followers go on, however that went.
pub(super) struct Leader<'a> {
    flights: &'a Flights,
    key: CacheKey,
    landing: Arc<Semaphore>,
}

/// Waits for the leader.
pub(super) struct Follower(Arc<Semaphore>);

impl Flights {
    pub(super) fn join(&self, key: CacheKey) -> Flight<'_> {
        let mut flights = self.lock();
        if let Some(landing) = flights.get(&key) {
            return Flight::Follows(Follower(Arc::clone(landing)));
        }
        let landing = Arc::new(Semaphore::new(0));
        flights.insert(key, Arc::clone(&landing));
        Flight::Leads(Leader { flights: self, key, landing })
    }

    /// No code that can panic runs while it is locked.
    fn lock(&self) -> MutexGuard<'_, HashMap<CacheKey, Arc<Semaphore>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Follower {
    pub(super) async fn landing(self) {
        // It never has permits; it is closed when the leader is done.
        let _ = self.0.acquire().await;
    }
}

impl Drop for Leader<'_> {
    fn drop(&mut self) {
        self.flights.lock().remove(&self.key);
        self.landing.close();
    }
}
