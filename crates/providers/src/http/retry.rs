//! Retries and their back-off.
//!
//! The rules are those of the official clients of OpenAI and Anthropic, with a retry budget like that of
//! tower.

use super::Limits;
use reqwest::StatusCode;
use reqwest::header::{HeaderMap, RETRY_AFTER};
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::time::Instant;

/// Maximum back-off delay. A provider may request a longer one.
const MAX_DELAY: Duration = Duration::from_secs(8);

/// Cost of a retry.
const RETRY_COST: u32 = 5;
/// Credit for a successful request. With [`RETRY_COST`], it bounds retries to a fifth of all requests in the
/// long run.
const SUCCESS_CREDIT: u32 = 1;
/// The initial and maximum budget: 100 retries.
const MAX_BUDGET: u32 = 100 * RETRY_COST;

/// Codes of an empty account, for which a retry is useless.
const EMPTY_ACCOUNT_CODES: [&str; 4] =
    ["insufficient_quota", "credit_balance_exhausted", "insufficient_balance", "billing"];

/// The decision about a retry of a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum RetryDecision {
    Never,
    /// Retry after the back-off delay.
    Backoff,
    /// Retry after the delay that the provider requested.
    After(Duration),
}

/// The retry policy of a server and its budget.
#[derive(Debug)]
pub(super) struct Retry {
    max_retries: u32,
    first_delay: Duration,
    max_retry_after: Duration,
    budget: AtomicU32,
}

impl Retry {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            max_retries: limits.max_retries,
            first_delay: limits.retry_delay,
            max_retry_after: limits.max_retry_after,
            budget: AtomicU32::new(MAX_BUDGET),
        }
    }

    /// Returns the delay before the next attempt, and takes the cost of a retry from the budget.
    ///
    /// Returns `None` for no retry: the decision forbids it, the maximum number of retries is reached, the
    /// provider requested too long a delay, the deadline would pass, or the budget is too small.
    pub(super) fn delay(
        &self,
        decision: RetryDecision,
        attempts: u32,
        deadline: Option<Instant>,
    ) -> Option<Duration> {
        if attempts > self.max_retries {
            return None;
        }
        let delay = match decision {
            RetryDecision::Never => return None,
            RetryDecision::Backoff => self.backoff(attempts),
            RetryDecision::After(wait) => {
                Some(wait).filter(|wait| *wait <= self.max_retry_after)?
            }
        };
        // An attempt after the deadline is not started.
        let is_late = deadline
            .is_some_and(|deadline| deadline.saturating_duration_since(Instant::now()) <= delay);
        (!is_late && self.withdraw()).then_some(delay)
    }

    /// Returns the exponential back-off delay, with a jitter of 50–100 %.
    fn backoff(&self, attempts: u32) -> Duration {
        let factor = 2_u32.saturating_pow(attempts.saturating_sub(1));
        let whole = self.first_delay.saturating_mul(factor).min(MAX_DELAY);
        // Each `RandomState` has new keys, so that the hash differs for every call.
        let random = RandomState::new().hash_one(attempts) as u32;
        whole / 2 + (whole / 2).mul_f64(f64::from(random) / f64::from(u32::MAX))
    }

    /// Takes the cost of a retry. Returns `false` if the budget is too small.
    fn withdraw(&self) -> bool {
        self.budget
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(RETRY_COST))
            .is_ok()
    }

    /// Adds the credit of a successful request to the budget.
    pub(super) fn succeeded(&self) {
        // The load comes first: usually the budget is full and no write is needed.
        let left = self.budget.load(Ordering::Relaxed);
        if left < MAX_BUDGET {
            self.budget.store((left + SUCCESS_CREDIT).min(MAX_BUDGET), Ordering::Relaxed);
        }
    }
}

/// Returns whether a request that failed with this status is retried, and when: after `wait`, if the
/// provider requested a delay, or after the back-off delay.
///
/// The header `x-should-retry` wins over the status.
pub(super) fn retry_decision(
    status: StatusCode,
    headers: &HeaderMap,
    code: Option<&str>,
    wait: Option<Duration>,
) -> RetryDecision {
    let header = headers.get("x-should-retry").map(|value| value.as_bytes());
    let is_retryable = match header {
        Some(b"true") => true,
        Some(b"false") => false,
        _ => {
            let is_transient = matches!(status.as_u16(), 408 | 409 | 429 | 500..);
            is_transient && !code.is_some_and(is_out_of_credit)
        }
    };
    match (is_retryable, wait) {
        (false, _) => RetryDecision::Never,
        (true, Some(wait)) => RetryDecision::After(wait),
        (true, None) => RetryDecision::Backoff,
    }
}

/// Returns `true` for the error codes of an empty account.
pub(super) fn is_out_of_credit(code: &str) -> bool {
    EMPTY_ACCOUNT_CODES.iter().any(|part| code.contains(part))
}

/// Returns the delay that the provider requests: `retry-after-ms`, or `retry-after` in seconds or as a date.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name| headers.get(name)?.to_str().ok();
    let seconds = |text: &str| Duration::try_from_secs_f64(text.trim().parse().ok()?).ok();
    if let Some(wait) = text("retry-after-ms")
        .and_then(|ms| Duration::try_from_secs_f64(ms.trim().parse::<f64>().ok()? / 1000.0).ok())
    {
        return Some(wait);
    }
    let value = text(RETRY_AFTER.as_str())?;
    seconds(value).or_else(|| until(value))
}

/// Returns the time until an HTTP date; zero if the date has passed.
fn until(date: &str) -> Option<Duration> {
    let date = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(date.trim()).ok()?;
    Some(date.duration_since(jiff::Timestamp::now()).try_into().unwrap_or(Duration::ZERO))
}
