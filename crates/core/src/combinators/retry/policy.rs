//! Retry policy and back-off.

use crate::error::Error;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

type ErrorPredicate = dyn Fn(&Error) -> bool + Send + Sync;

/// The number of attempts and the back-off of a [`RetryModel`](super::RetryModel).
///
/// Defaults: 3 attempts; exponential back-off from 0.5 s, doubled up to 8 s, with [`Jitter::Half`]; a
/// provider's `retry-after` of at most 60 s; errors that [are retryable](Error::is_retryable); no deadline.
///
/// # Examples
///
/// ```
/// use ai_services::ErrorKind;
/// use ai_services::combinators::{Jitter, RetryPolicy};
/// use std::time::Duration;
///
/// let patient = RetryPolicy::new()
///     .max_attempts(6)
///     .initial_delay(Duration::from_secs(1))
///     .max_delay(Duration::from_secs(60))
///     .jitter(Jitter::Full)
///     .deadline(Duration::from_secs(300))
///     .when(|error| error.is_retryable() && error.kind() != ErrorKind::Timeout);
/// # let _ = patient;
/// ```
#[derive(Clone)]
#[must_use]
pub struct RetryPolicy {
    max_attempts: u32,
    initial_delay: Duration,
    factor: f64,
    max_delay: Duration,
    jitter: Jitter,
    max_retry_after: Duration,
    pub(super) deadline: Option<Duration>,
    when: Arc<ErrorPredicate>,
}

/// Randomization of delays, so that clients that failed at the same time do not retry at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Jitter {
    /// No jitter: waits the computed delay.
    None,
    /// Waits a random 50–100 % of the computed delay.
    #[default]
    Half,
    /// Waits a random 0–100 % of the computed delay.
    Full,
}

impl RetryPolicy {
    /// Creates the default policy.
    pub fn new() -> Self {
        Self {
            max_attempts: 3,
            initial_delay: Duration::from_millis(500),
            factor: 2.0,
            max_delay: Duration::from_secs(8),
            jitter: Jitter::Half,
            max_retry_after: Duration::from_secs(60),
            deadline: None,
            when: Arc::new(Error::is_retryable),
        }
    }

    /// Sets the maximum number of attempts, the first one included. Default: 3. 0 counts as 1.
    pub fn max_attempts(mut self, attempts: u32) -> Self {
        self.max_attempts = attempts;
        self
    }

    /// Sets the delay after the first failure. Default: 0.5 seconds.
    pub fn initial_delay(mut self, delay: Duration) -> Self {
        self.initial_delay = delay;
        self
    }

    /// Sets the factor by which the delay grows with each attempt. Default: 2. Values below 1 and NaN count
    /// as 1.
    pub fn factor(mut self, factor: f64) -> Self {
        self.factor = factor.max(1.0);
        self
    }

    /// Sets the maximum computed delay. Default: 8 seconds. A provider's `retry-after` may be longer.
    pub fn max_delay(mut self, delay: Duration) -> Self {
        self.max_delay = delay;
        self
    }

    /// Sets the jitter. Default: [`Jitter::Half`].
    pub fn jitter(mut self, jitter: Jitter) -> Self {
        self.jitter = jitter;
        self
    }

    /// Sets the maximum `retry-after` of a provider. Default: 60 seconds. If the provider requests more, its
    /// error is returned immediately, with [`retry_after`](Error::retry_after).
    pub fn max_retry_after(mut self, wait: Duration) -> Self {
        self.max_retry_after = wait;
        self
    }

    /// Sets the time limit of all attempts and delays together. Default: unlimited. An attempt that is
    /// running at the deadline is cancelled, a stream only before its first event.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Sets the predicate for errors that are retried. Default: [`Error::is_retryable`].
    pub fn when(mut self, when: impl Fn(&Error) -> bool + Send + Sync + 'static) -> Self {
        self.when = Arc::new(when);
        self
    }

    /// Returns the delay after an error, with `attempts` failed attempts so far, or `None` to give up.
    pub(super) fn delay(
        &self,
        error: &Error,
        attempts: u32,
        deadline: Option<Instant>,
    ) -> Option<Duration> {
        if attempts >= self.max_attempts || !(self.when)(error) {
            return None;
        }
        let delay = match error.retry_after() {
            Some(wait) => Some(wait).filter(|wait| *wait <= self.max_retry_after)?,
            None => self.backoff(attempts),
        };
        // An attempt after the deadline is pointless.
        let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
        left.is_none_or(|left| left > delay).then_some(delay)
    }

    fn backoff(&self, attempts: u32) -> Duration {
        let growth = self.factor.powf(f64::from(attempts.saturating_sub(1)));
        let seconds = self.initial_delay.as_secs_f64() * growth;
        let delay = Duration::try_from_secs_f64(seconds).unwrap_or(self.max_delay);
        let delay = delay.min(self.max_delay);
        match self.jitter {
            Jitter::None => delay,
            Jitter::Half => delay / 2 + (delay / 2).mul_f64(random_fraction(attempts)),
            Jitter::Full => delay.mul_f64(random_fraction(attempts)),
        }
    }
}

/// Returns a random number between 0 and 1.
fn random_fraction(attempts: u32) -> f64 {
    // The state is seeded by the system and differs for every call.
    let random = RandomState::new().hash_one(attempts) as u32;
    f64::from(random) / f64::from(u32::MAX)
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for RetryPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RetryPolicy")
            .field("max_attempts", &self.max_attempts)
            .field("initial_delay", &self.initial_delay)
            .field("factor", &self.factor)
            .field("max_delay", &self.max_delay)
            .field("jitter", &self.jitter)
            .field("max_retry_after", &self.max_retry_after)
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    fn unavailable() -> Error {
        Error::new(ErrorKind::Unavailable, "down")
    }

    #[test]
    fn delays_grow_up_to_the_maximum() {
        let policy = RetryPolicy::new().max_attempts(100).jitter(Jitter::None);
        let delays = [1, 2, 3, 4, 5, 6, 99].map(|n| policy.delay(&unavailable(), n, None).unwrap());
        assert_eq!(
            delays.map(|delay| delay.as_millis()),
            [500, 1000, 2000, 4000, 8000, 8000, 8000]
        );
    }

    #[test]
    fn jitter_only_shortens_delays() {
        for (jitter, least) in [(Jitter::Half, 250), (Jitter::Full, 0)] {
            let policy = RetryPolicy::new().jitter(jitter);
            for _ in 0..100 {
                let delay = policy.delay(&unavailable(), 1, None).unwrap();
                assert!((least..=500).contains(&delay.as_millis()), "{delay:?}");
            }
        }
    }

    #[test]
    fn invalid_factors_are_harmless() {
        for factor in [f64::NAN, f64::INFINITY, -1.0, 0.0] {
            let policy = RetryPolicy::new().factor(factor).max_attempts(9);
            assert!(policy.delay(&unavailable(), 5, None).is_some(), "{factor}");
        }
    }

    #[test]
    fn retry_after_is_obeyed_up_to_a_limit() {
        let wait = |seconds| {
            let error = unavailable().with_retry_after(Duration::from_secs(seconds));
            RetryPolicy::new().delay(&error, 1, None).map(|wait| wait.as_secs())
        };
        assert_eq!((wait(0), wait(60), wait(61)), (Some(0), Some(60), None));
    }
}
