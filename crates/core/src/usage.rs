//! Token counts reported by providers, and their sums.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, AddAssign};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// The number of tokens that a model read and wrote, as reported by the provider.
///
/// A count that was not reported is `None`, never zero. The sum of two usages skips missing counts:
/// `None + 3` is 3.
///
/// # Examples
///
/// ```
/// use ai_services::model::TokenUsage;
///
/// let first = TokenUsage::new(10, 5);
/// let second = TokenUsage::new(7, 1).with_cached_input(Some(4));
/// let sum = first + second;
/// assert_eq!((sum.input, sum.output, sum.total()), (Some(17), Some(6), Some(23)));
/// assert_eq!(sum.cached_input, Some(4));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct TokenUsage {
    /// Tokens of the request, cached ones included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<u64>,
    /// Tokens of the answer, reasoning included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
    /// Tokens of the request that the provider read from its prompt cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_input: Option<u64>,
    /// Tokens of the request that the provider wrote into its prompt cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write_input: Option<u64>,
    /// Tokens of the answer that the model spent on reasoning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<u64>,
    /// The total that the provider reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    reported_total: Option<u64>,
}

impl TokenUsage {
    /// Creates a usage with the two counts that every provider reports.
    #[must_use]
    pub fn new(input: u64, output: u64) -> Self {
        Self { input: Some(input), output: Some(output), ..Self::default() }
    }

    /// Sets the total that the provider reported, where it is not the sum of input and output.
    #[must_use]
    pub fn with_total(mut self, total: Option<u64>) -> Self {
        self.reported_total = total;
        self
    }

    /// Sets the number of input tokens read from the provider's prompt cache.
    #[must_use]
    pub fn with_cached_input(mut self, cached: Option<u64>) -> Self {
        self.cached_input = cached;
        self
    }

    /// Sets the number of input tokens written into the provider's prompt cache.
    #[must_use]
    pub fn with_cache_write_input(mut self, written: Option<u64>) -> Self {
        self.cache_write_input = written;
        self
    }

    /// Sets the number of output tokens spent on reasoning.
    #[must_use]
    pub fn with_reasoning(mut self, reasoning: Option<u64>) -> Self {
        self.reasoning = reasoning;
        self
    }

    /// Returns the reported total, or the sum of the known counts of input and output.
    #[must_use]
    pub fn total(&self) -> Option<u64> {
        self.reported_total.or_else(|| sum(self.input, self.output))
    }

    /// Returns the reported total, if there is one.
    pub(crate) fn reported_total(&self) -> Option<u64> {
        self.reported_total
    }

    /// Returns `true` if the provider reported no counts.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

fn sum(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.saturating_add(b)),
        (a, b) => a.or(b),
    }
}

impl Add for TokenUsage {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        // If either side reported a total, the sum needs a total of its own: input + output may
        // differ from it.
        let reported_total = match (self.reported_total, other.reported_total) {
            (None, None) => None,
            _ => sum(self.total(), other.total()),
        };
        Self {
            input: sum(self.input, other.input),
            output: sum(self.output, other.output),
            cached_input: sum(self.cached_input, other.cached_input),
            cache_write_input: sum(self.cache_write_input, other.cache_write_input),
            reasoning: sum(self.reasoning, other.reasoning),
            reported_total,
        }
    }
}

impl AddAssign for TokenUsage {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// Counts the tokens of the models that a call uses beside the chat model: models that rewrite
/// queries, choose sources, embed, re-rank or judge.
///
/// Code that calls a model on behalf of a service call adds the tokens to the meter of that call.
/// The usage and the cost of the response then cover the whole call. Clones share one meter.
///
/// # Examples
///
/// ```
/// use ai_services::model::{TokenUsage, UsageMeter};
///
/// let meter = UsageMeter::new();
/// meter.add("text-embedding-3-small", TokenUsage::new(7, 0));
/// assert_eq!(meter.total().input, Some(7));
/// ```
#[derive(Default)]
pub struct UsageMeter(OnceLock<Arc<Shared>>);

#[derive(Default)]
struct Shared {
    readings: Mutex<Readings>,
    /// The meter of the call around the call of this meter.
    outer: Option<UsageMeter>,
}

/// The names of models with the tokens they used, in the order in which they were added.
type Readings = Vec<(Box<str>, TokenUsage)>;

impl UsageMeter {
    /// Creates an empty meter.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates the meter of a call within the call of `outer`, which counts the same tokens.
    #[doc(hidden)]
    #[must_use]
    pub fn within(outer: &Self) -> Self {
        let shared = Shared { outer: Some(outer.clone()), ..Shared::default() };
        Self(OnceLock::from(Arc::new(shared)))
    }

    /// Adds the tokens that the model of this name used.
    pub fn add(&self, model: &str, usage: TokenUsage) {
        if usage != TokenUsage::default() {
            let shared = self.shared();
            lock(&shared.readings).push((model.into(), usage));
            if let Some(outer) = &shared.outer {
                outer.add(model, usage);
            }
        }
    }

    /// Returns the meter of the call around this call, if there is one.
    #[doc(hidden)]
    #[must_use]
    pub fn outer(&self) -> Option<&Self> {
        self.0.get()?.outer.as_ref()
    }

    /// Returns the tokens of all models together.
    #[must_use]
    pub fn total(&self) -> TokenUsage {
        let Some(shared) = self.0.get() else { return TokenUsage::default() };
        lock(&shared.readings).iter().fold(TokenUsage::default(), |sum, (_, usage)| sum + *usage)
    }

    /// Returns the entries added since the last call of [`take`](Self::take), in order.
    #[doc(hidden)]
    pub fn pending(&self) -> Readings {
        self.0.get().map(|shared| lock(&shared.readings).clone()).unwrap_or_default()
    }

    /// Returns and removes the entries added since the last call, in order.
    #[doc(hidden)]
    #[inline]
    pub fn take(&self) -> Readings {
        self.0.get().map(|shared| std::mem::take(&mut *lock(&shared.readings))).unwrap_or_default()
    }

    /// Allocates on first use: most calls use one model only, and never touch the meter.
    fn shared(&self) -> &Arc<Shared> {
        self.0.get_or_init(Arc::default)
    }
}

fn lock(readings: &Mutex<Readings>) -> MutexGuard<'_, Readings> {
    readings.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Shares the meter.
impl Clone for UsageMeter {
    fn clone(&self) -> Self {
        Self(OnceLock::from(Arc::clone(self.shared())))
    }
}

impl fmt::Debug for UsageMeter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("UsageMeter").field(&self.total()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_counts_are_skipped_in_sums() {
        assert_eq!(TokenUsage::default() + TokenUsage::default(), TokenUsage::default());
        let known = TokenUsage::new(1, 2).with_total(Some(3));
        assert_eq!(known + TokenUsage::default(), known);
        assert_eq!(TokenUsage::default() + known, known);
    }

    #[test]
    fn reported_totals_are_summed() {
        let odd = TokenUsage::new(1, 2).with_total(Some(10));
        assert_eq!((odd + TokenUsage::new(4, 5)).total(), Some(19));
    }

    #[test]
    fn cloned_meters_share_their_counts() {
        let meter = UsageMeter::new();
        let (before, usage) = (meter.clone(), TokenUsage::new(1, 2));
        meter.add("a", usage);
        before.add("b", usage);
        meter.add("c", TokenUsage::default());
        assert_eq!((meter.total(), before.total()), (usage + usage, usage + usage));
        assert_eq!(before.take(), [("a".into(), usage), ("b".into(), usage)]);
        assert_eq!(meter.take(), []);
    }
}
