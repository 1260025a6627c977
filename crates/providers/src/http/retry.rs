//! When a request is sent again, and after which pause.
//!
//! The rules are those of the official clients of OpenAI and Anthropic, with a budget against
//! storms of retries as in tower.

use super::Limits;
use reqwest::StatusCode;
use reqwest::header::{HeaderMap, RETRY_AFTER};
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::time::Instant;

/// The longest pause that is chosen here; a provider may ask for a longer one.
const MAX_DELAY: Duration = Duration::from_secs(8);

/// What a retry costs, and what a success earns: over time a fifth of all requests may be retries.
const COST: u32 = 5;
const EARNED: u32 = 1;
/// The budget at the beginning and at most: 100 retries.
const BUDGET: u32 = 100 * COST;

/// Codes that mean an empty account, which no waiting fills.
const NO_MONEY: [&str; 4] =
    ["insufficient_quota", "credit_balance_exhausted", "insufficient_balance", "billing"];

/// Whether a failed attempt may be repeated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Repeat {
    Never,
    Soon,
    After(Duration),
}

/// The policy and its budget.
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
            budget: AtomicU32::new(BUDGET),
        }
    }

    /// The pause before the next attempt; `None` if there is to be none.
    pub(super) fn delay(
        &self,
        repeat: Repeat,
        attempts: u32,
        deadline: Option<Instant>,
    ) -> Option<Duration> {
        if attempts > self.max_retries {
            return None;
        }
        let delay = match repeat {
            Repeat::Never => return None,
            Repeat::Soon => self.backoff(attempts),
            Repeat::After(wait) => Some(wait).filter(|wait| *wait <= self.max_retry_after)?,
        };
        // An attempt that could not be finished is not begun.
        let is_late = deadline
            .is_some_and(|deadline| deadline.saturating_duration_since(Instant::now()) <= delay);
        (!is_late && self.pay()).then_some(delay)
    }

    /// Between the half and the whole of a pause that doubles.
    fn backoff(&self, attempts: u32) -> Duration {
        let factor = 2_u32.saturating_pow(attempts.saturating_sub(1));
        let whole = self.first_delay.saturating_mul(factor).min(MAX_DELAY);
        // The state is seeded by the system and differs at every call.
        let random = RandomState::new().hash_one(attempts) as u32;
        whole / 2 + (whole / 2).mul_f64(f64::from(random) / f64::from(u32::MAX))
    }

    fn pay(&self) -> bool {
        self.budget
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(COST))
            .is_ok()
    }

    /// Refills the budget a little.
    pub(super) fn succeeded(&self) {
        // Read first: in the usual case the budget is full and nothing is written.
        let left = self.budget.load(Ordering::Relaxed);
        if left < BUDGET {
            self.budget.store((left + EARNED).min(BUDGET), Ordering::Relaxed);
        }
    }
}

/// Whether an answer with this status may be repeated, and when: after `wait`, if the provider asks for
/// that.
pub(super) fn repeat(
    status: StatusCode,
    headers: &HeaderMap,
    code: Option<&str>,
    wait: Option<Duration>,
) -> Repeat {
    let told = headers.get("x-should-retry").map(|value| value.as_bytes());
    let may = match told {
        Some(b"true") => true,
        Some(b"false") => false,
        _ => {
            let worth = matches!(status.as_u16(), 408 | 409 | 429 | 500..);
            worth && !code.is_some_and(is_out_of_money)
        }
    };
    match (may, wait) {
        (false, _) => Repeat::Never,
        (true, Some(wait)) => Repeat::After(wait),
        (true, None) => Repeat::Soon,
    }
}

/// Whether an error code means that the account is empty.
pub(super) fn is_out_of_money(code: &str) -> bool {
    NO_MONEY.iter().any(|part| code.contains(part))
}

/// How long the provider asks to wait: `retry-after-ms`, or `retry-after` in seconds or as a date.
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

/// The time until an HTTP date; zero when it has passed.
fn until(date: &str) -> Option<Duration> {
    let date = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(date.trim()).ok()?;
    Some(date.duration_since(jiff::Timestamp::now()).try_into().unwrap_or(Duration::ZERO))
}
