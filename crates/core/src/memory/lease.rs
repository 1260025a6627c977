//! The leases of a store, their tokens and options.

use super::MemoryId;
use crate::error::{Error, Result};
use crate::random::random;
use async_trait::async_trait;
use std::fmt;
use std::time::Duration;

/// The leases of a store on its conversations.
///
/// Versions alone keep a conversation consistent, but the second of two writers learns only at the
/// end of its turn that its commit is rejected. A process that holds the lease during a turn avoids
/// wasted model calls. The token is a fencing token: a [`Change`](super::Change) with a token is
/// applied only while this token holds the lease, and releases the lease in the same step. Changes
/// without a token ignore leases.
///
/// Implementations carry `#[ai_services::async_trait]`. Without it, the compiler reports that "lifetime
/// parameters or bounds on method … do not match the trait declaration".
#[async_trait]
pub trait ConversationLeases: Send + Sync {
    /// Returns the duration of a lease and the time limit of waiting for one.
    fn options(&self) -> LeaseOptions;

    /// Acquires the lease if it is free, or renews it if `token` holds it. Returns whether `token`
    /// holds the lease now.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be written.
    async fn acquire(&self, id: &MemoryId, token: LeaseToken) -> Result<bool>;

    /// Releases the lease. Has no effect if `token` does not hold it.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be written. The lease expires in this case.
    async fn release(&self, id: &MemoryId, token: LeaseToken) -> Result<()>;
}

/// A fencing token that identifies one holder of a lease. Tokens are unique.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct LeaseToken(u64);

impl LeaseToken {
    /// Creates a random token.
    #[must_use]
    #[allow(clippy::new_without_default, reason = "two defaults would not be equal")]
    pub fn new() -> Self {
        Self(random())
    }

    /// Returns the token as the number that stores use.
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

/// The duration of a lease and the time limit of waiting for one.
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
    /// Time until a lease expires unless it is renewed. Default: 30 seconds. At least 1 second. A
    /// service renews the lease after each third of this time. A process that crashes blocks the
    /// conversation for at most this time.
    pub duration: Duration,
    /// Time limit of waiting for a lease. After it, the caller gets
    /// [`ErrorKind::Busy`](crate::ErrorKind::Busy). Default: 60 seconds.
    pub max_wait: Duration,
}

impl LeaseOptions {
    /// Creates options with the defaults.
    pub fn new() -> Self {
        Self { duration: Duration::from_secs(30), max_wait: Duration::from_secs(60) }
    }

    /// Sets the time until a lease expires unless it is renewed.
    pub fn duration(mut self, duration: Duration) -> Self {
        self.duration = duration;
        self
    }

    /// Sets the time limit of waiting for a lease.
    pub fn max_wait(mut self, max_wait: Duration) -> Self {
        self.max_wait = max_wait;
        self
    }

    /// Returns the options. Fails if the duration is below one second.
    #[doc(hidden)]
    pub fn checked(self) -> Result<Self> {
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
