//! When a request is repeated, and after which pause.

use crate::error::Error;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

type When = dyn Fn(&Error) -> bool + Send + Sync;

/// How often and after which pauses a [`RetryModel`](super::RetryModel) repeats a request.
///
/// By default: 3 attempts; pauses of 0.5 s that double up to 8 s, each shortened by chance by up to a
/// half; a provider's `retry-after` is obeyed up to 60 s; errors that
/// [are retryable](Error::is_retryable); no deadline.
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
    when: Arc<When>,
}

/// How much of a pause is left to chance, so that clients that failed together do not come back
/// together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Jitter {
    /// Nothing: every pause is as long as it is.
    None,
    /// A pause lasts between its half and its whole.
    #[default]
    Half,
    /// A pause lasts between nothing and its whole.
    Full,
}

impl RetryPolicy {
    /// The default policy.
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

    /// Sets how often the model is asked at most, the first time included. 0 is 1.
    pub fn max_attempts(mut self, attempts: u32) -> Self {
        self.max_attempts = attempts;
        self
    }

    /// Sets the pause after the first failure.
    pub fn initial_delay(mut self, delay: Duration) -> Self {
        self.initial_delay = delay;
        self
    }

    /// Sets by what each pause is longer than the one before. What is less than 1, or no number, is 1.
    pub fn factor(mut self, factor: f64) -> Self {
        self.factor = factor.max(1.0);
        self
    }

    /// Sets the longest pause. What a provider asks for may be longer.
    pub fn max_delay(mut self, delay: Duration) -> Self {
        self.max_delay = delay;
        self
    }

    /// Sets how much of a pause is left to chance.
    pub fn jitter(mut self, jitter: Jitter) -> Self {
        self.jitter = jitter;
        self
    }

    /// Sets how long a provider may ask to wait. If it asks for more, its error is returned at once,
    /// with [`retry_after`](Error::retry_after).
    pub fn max_retry_after(mut self, wait: Duration) -> Self {
        self.max_retry_after = wait;
        self
    }

    /// Sets how long all attempts and pauses together may take. An attempt that is running then is
    /// cancelled; a stream only as long as none of its pieces has come.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Sets after which errors the request is repeated.
    pub fn when(mut self, when: impl Fn(&Error) -> bool + Send + Sync + 'static) -> Self {
        self.when = Arc::new(when);
        self
    }

    /// The pause after an error, with which `attempts` attempts have failed; `None` if it was the last.
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
            Some(asked) => Some(asked).filter(|asked| *asked <= self.max_retry_after)?,
            None => self.backoff(attempts),
        };
        // An attempt that could not be finished is not begun.
        let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
        left.is_none_or(|left| left > delay).then_some(delay)
    }

    fn backoff(&self, attempts: u32) -> Duration {
        let grown = self.factor.powf(f64::from(attempts.saturating_sub(1)));
        let seconds = self.initial_delay.as_secs_f64() * grown;
        let whole = Duration::try_from_secs_f64(seconds).unwrap_or(self.max_delay);
        let whole = whole.min(self.max_delay);
        match self.jitter {
            Jitter::None => whole,
            Jitter::Half => whole / 2 + (whole / 2).mul_f64(chance(attempts)),
            Jitter::Full => whole.mul_f64(chance(attempts)),
        }
    }
}

/// A number between 0 and 1.
fn chance(attempts: u32) -> f64 {
    // The state is seeded by the system and differs at every call.
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
    fn pauses_grow_up_to_the_longest() {
        let policy = RetryPolicy::new().max_attempts(100).jitter(Jitter::None);
        let pauses = [1, 2, 3, 4, 5, 6, 99].map(|n| policy.delay(&unavailable(), n, None).unwrap());
        assert_eq!(
            pauses.map(|pause| pause.as_millis()),
            [500, 1000, 2000, 4000, 8000, 8000, 8000]
        );
    }

    #[test]
    fn chance_shortens_a_pause_only() {
        for (jitter, least) in [(Jitter::Half, 250), (Jitter::Full, 0)] {
            let policy = RetryPolicy::new().jitter(jitter);
            for _ in 0..100 {
                let pause = policy.delay(&unavailable(), 1, None).unwrap();
                assert!((least..=500).contains(&pause.as_millis()), "{pause:?}");
            }
        }
    }

    #[test]
    fn odd_factors_do_no_harm() {
        for factor in [f64::NAN, f64::INFINITY, -1.0, 0.0] {
            let policy = RetryPolicy::new().factor(factor).max_attempts(9);
            assert!(policy.delay(&unavailable(), 5, None).is_some(), "{factor}");
        }
    }

    #[test]
    fn what_a_provider_asks_is_obeyed_up_to_a_limit() {
        let wait = |seconds| {
            let error = unavailable().with_retry_after(Duration::from_secs(seconds));
            RetryPolicy::new().delay(&error, 1, None).map(|wait| wait.as_secs())
        };
        assert_eq!((wait(0), wait(60), wait(61)), (Some(0), Some(60), None));
    }
}
