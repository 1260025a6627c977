//! Taking turns with other processes.

use super::{ChatMemoryStore, MemoryId};
use crate::error::{Error, ErrorKind, Result};
use async_trait::async_trait;
use futures_util::future::{Either, select};
use std::fmt;
use std::future::Future;
use std::hash::{BuildHasher, RandomState};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep};

/// The shortest and the longest pause between two attempts to get a lease.
const PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(500));

/// How a store gives leases on its conversations.
///
/// Versions alone keep a conversation in order, but the second of two writers learns only at the end
/// that its turn was in vain. A process that holds the lease while a turn runs pays for no answer that
/// cannot be remembered. The token fences: a [`Change`](super::Change) that names one is applied only
/// while that token holds the lease, and gives the lease back with the same step. Changes that name
/// none are not held up.
#[async_trait]
pub trait ConversationLeases: Send + Sync {
    /// How long a lease lasts and how long a caller waits for one.
    fn options(&self) -> LeaseOptions;

    /// Takes the lease if nobody holds it, or prolongs it if `token` does. Says whether `token` holds
    /// it now.
    ///
    /// # Errors
    ///
    /// If the store cannot be written.
    async fn acquire(&self, id: &MemoryId, token: LeaseToken) -> Result<bool>;

    /// Gives the lease back. If `token` does not hold it, nothing happens.
    ///
    /// # Errors
    ///
    /// If the store cannot be written. The lease ends by itself then.
    async fn release(&self, id: &MemoryId, token: LeaseToken) -> Result<()>;
}

/// Names one holder of a lease. No two are alike.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct LeaseToken(u64);

impl LeaseToken {
    pub(crate) fn new() -> Self {
        Self(random())
    }

    /// The token as a number, as stores keep it.
    #[must_use]
    pub fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Debug for LeaseToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LeaseToken({:016x})", self.0)
    }
}

/// A number that nobody can foretell, from the keys that the standard library draws for hash maps.
pub(crate) fn random() -> u64 {
    let keys = RandomState::new();
    keys.hash_one((std::process::id(), std::time::SystemTime::now()))
}

/// How long a lease lasts and how long a caller waits for one.
///
/// # Examples
///
/// ```
/// use ai_services::memory::LeaseOptions;
/// use std::time::Duration;
///
/// let options = LeaseOptions::new().duration(Duration::from_secs(10));
/// assert_eq!(options.max_wait, Duration::from_secs(60));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[must_use]
pub struct LeaseOptions {
    /// How long a lease lasts that is not prolonged: 30 seconds by default, at least one. A service
    /// prolongs it three times as often; a process that dies holds up the conversation for so long.
    pub duration: Duration,
    /// How long a caller waits for a lease: 60 seconds by default. Then it fails with
    /// [`ErrorKind::Busy`].
    pub max_wait: Duration,
}

impl LeaseOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self { duration: Duration::from_secs(30), max_wait: Duration::from_secs(60) }
    }

    /// Sets how long a lease lasts that is not prolonged.
    pub fn duration(mut self, duration: Duration) -> Self {
        self.duration = duration;
        self
    }

    /// Sets how long a caller waits for a lease.
    pub fn max_wait(mut self, max_wait: Duration) -> Self {
        self.max_wait = max_wait;
        self
    }

    /// The options, if a lease lasts for at least a second.
    #[cfg(feature = "_store")]
    pub(crate) fn checked(self) -> Result<Self> {
        if self.duration < Duration::from_secs(1) {
            let message =
                "a lease must last for at least one second; raise `LeaseOptions::duration`";
            return Err(Error::configuration(message));
        }
        Ok(self)
    }
}

impl Default for LeaseOptions {
    fn default() -> Self {
        Self::new()
    }
}

/// A conversation whose store gives leases.
#[derive(Clone)]
pub struct LeaseRequest {
    store: Arc<dyn ChatMemoryStore>,
    id: MemoryId,
    options: LeaseOptions,
}

impl LeaseRequest {
    /// A request for the lease of `id`, if the store gives leases.
    #[must_use]
    pub fn new(store: &Arc<dyn ChatMemoryStore>, id: &MemoryId) -> Option<Self> {
        let options = store.leases()?.options();
        Some(Self { store: Arc::clone(store), id: id.clone(), options })
    }

    /// Waits until the lease is free, at most for the store's
    /// [`max_wait`](LeaseOptions::max_wait) and at most for `limit`, and takes it.
    ///
    /// Callers of one process queue up before; between processes there is no order.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`] if the lease did not become free in time, else as
    /// [`ConversationLeases::acquire`].
    pub async fn wait(self, limit: Duration) -> Result<Lease> {
        let lease = Lease { request: self, token: LeaseToken::new(), is_held: true };
        lease.regain(limit).await?;
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
            tracing::warn!(%error, "a lease could not be given back; it ends by itself");
        }
    }
}

impl fmt::Debug for LeaseRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, options, .. } = self;
        f.debug_struct("LeaseRequest").field("id", id).field("options", options).finish()
    }
}

/// A lease that is held. Dropping it gives it back, in a task of the runtime at hand; without a
/// runtime it ends by itself.
#[derive(Debug)]
pub struct Lease {
    request: LeaseRequest,
    token: LeaseToken,
    is_held: bool,
}

impl Lease {
    /// What a [`Change`](super::Change) names to be applied under this lease.
    #[must_use]
    pub fn token(&self) -> LeaseToken {
        self.token
    }

    /// Prolongs the lease; waits for it as [`LeaseRequest::wait`] does if it was lost.
    pub(crate) async fn regain(&self, limit: Duration) -> Result<()> {
        let LeaseRequest { id, options, .. } = &self.request;
        let limit = limit.min(options.max_wait);
        let began = Instant::now();
        let mut pause = PAUSES.0;
        while !self.request.acquire(self.token).await? {
            let left = limit.saturating_sub(began.elapsed());
            if left.is_zero() {
                return Err(Error::new(
                    ErrorKind::Busy,
                    format!("another process is using the conversation `{id}`; try again later"),
                ));
            }
            // Somewhere between the half and the whole, so that two who wait do not move in step.
            let jittered = pause.mul_f64(0.5 + (random() % 512) as f64 / 1024.0);
            sleep(jittered.min(left)).await;
            pause = (pause * 2).min(PAUSES.1);
        }
        Ok(())
    }

    /// Prolongs the lease again and again while `work` runs.
    ///
    /// If the lease is lost, `work` goes on: the commit will be refused, with the finished answer.
    pub(crate) async fn keep<T>(&self, work: impl Future<Output = T>) -> T {
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
                        // The next attempt comes before the lease ends.
                        Err(error) => tracing::warn!(%error, "a lease could not be prolonged"),
                    }
                }
            }
        }
    }

    /// Gives the lease back before anything else happens, so that a program that ends now leaves
    /// nobody waiting.
    pub(crate) async fn give_back(mut self) {
        self.request.release(self.token).await;
        self.is_held = false;
    }

    /// Takes note that the store has given the lease back with a commit.
    pub(crate) fn given_back(mut self) {
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
