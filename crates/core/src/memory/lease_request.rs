//! Waiting for a lease, and holding it.

use super::{ChatMemoryStore, LeaseOptions, LeaseToken, MemoryId};
use crate::error::{Error, ErrorKind, Result};
use crate::random::random;
use futures_util::future::{Either, select};
use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep};

/// The shortest and the longest delay between two attempts to acquire a lease.
const RETRY_DELAYS: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(500));

/// A request for the lease of one conversation.
#[derive(Clone)]
pub struct LeaseRequest {
    store: Arc<dyn ChatMemoryStore>,
    id: MemoryId,
    options: LeaseOptions,
}

impl LeaseRequest {
    /// Creates a request for the lease of `id`, if the store supports leases.
    #[must_use]
    pub fn new(store: &Arc<dyn ChatMemoryStore>, id: &MemoryId) -> Option<Self> {
        let options = store.leases()?.options();
        Some(Self { store: Arc::clone(store), id: id.clone(), options })
    }

    /// Waits until the lease is free and acquires it. Waits at most for the store's
    /// [`max_wait`](LeaseOptions::max_wait) and at most for `limit`.
    ///
    /// The service lets callers of one process wait in order before this call. The order between
    /// processes is undefined.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Busy`] if the lease is not free in time. Otherwise the same as
    /// [`ConversationLeases::acquire`](super::ConversationLeases::acquire).
    pub async fn wait(self, limit: Duration) -> Result<Lease> {
        let lease = Lease { request: self, token: LeaseToken::new(), is_held: true };
        lease.reacquire(limit).await?;
        Ok(lease)
    }

    async fn acquire(&self, token: LeaseToken) -> Result<bool> {
        match self.store.leases() {
            Some(leases) => leases.acquire(&self.id, token).await,
            None => Ok(true),
        }
    }

    async fn release(&self, token: LeaseToken) {
        let Some(leases) = self.store.leases() else { return };
        if let Err(error) = leases.release(&self.id, token).await {
            tracing::warn!(%error, "a lease could not be released; it will expire");
        }
    }
}

impl fmt::Debug for LeaseRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, options, .. } = self;
        f.debug_struct("LeaseRequest").field("id", id).field("options", options).finish()
    }
}

/// A lease that is held. Dropping it releases the lease in a task of the current Tokio runtime.
/// Without a runtime, the lease expires.
#[derive(Debug)]
pub struct Lease {
    request: LeaseRequest,
    token: LeaseToken,
    is_held: bool,
}

impl Lease {
    /// Returns the token for a [`Change`](super::Change) that must be applied under this lease.
    #[must_use]
    pub fn token(&self) -> LeaseToken {
        self.token
    }

    /// Renews the lease. If it was lost, waits for it like [`LeaseRequest::wait`].
    #[doc(hidden)]
    pub async fn reacquire(&self, limit: Duration) -> Result<()> {
        let LeaseRequest { id, options, .. } = &self.request;
        let limit = limit.min(options.max_wait);
        let start = Instant::now();
        let mut delay = RETRY_DELAYS.0;
        while !self.request.acquire(self.token).await? {
            let left = limit.saturating_sub(start.elapsed());
            if left.is_zero() {
                return Err(Error::new(
                    ErrorKind::Busy,
                    format!("another process is using the conversation `{id}`; try again later"),
                ));
            }
            // Jitter: a random 50–100 % of the delay, so that waiting processes do not retry in
            // lockstep.
            let jittered = delay.mul_f64(0.5 + (random() % 512) as f64 / 1024.0);
            sleep(jittered.min(left)).await;
            delay = (delay * 2).min(RETRY_DELAYS.1);
        }
        Ok(())
    }

    /// Renews the lease periodically while `work` runs.
    ///
    /// If the lease is lost, `work` continues. Its commit will be rejected, with the finished
    /// answer in the error.
    #[doc(hidden)]
    pub async fn keep<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        loop {
            match select(work, pin!(sleep(self.request.options.duration / 3))).await {
                Either::Left((done, _)) => return done,
                Either::Right(((), unfinished)) => work = unfinished,
            }
            match select(work, pin!(self.request.acquire(self.token))).await {
                Either::Left((done, _)) => return done,
                Either::Right((renewed, unfinished)) => {
                    work = unfinished;
                    match renewed {
                        Ok(true) => {}
                        Ok(false) => {
                            tracing::warn!("the lease of a conversation was lost while a turn ran");
                            return work.await;
                        }
                        // The next attempt comes before the lease expires.
                        Err(error) => tracing::warn!(%error, "a lease could not be renewed"),
                    }
                }
            }
        }
    }

    /// Releases the lease and waits for the release, so that a program that exits next leaves no
    /// process waiting.
    #[doc(hidden)]
    pub async fn release(mut self) {
        self.request.release(self.token).await;
        self.is_held = false;
    }

    /// Records that the store released the lease with a commit, so that dropping this value has no
    /// effect.
    #[doc(hidden)]
    pub fn mark_released(mut self) {
        self.is_held = false;
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if !self.is_held {
            return;
        }
        let (request, token) = (self.request.clone(), self.token);
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move { request.release(token).await });
        }
    }
}
