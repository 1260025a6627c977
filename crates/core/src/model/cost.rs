//! The cost of model calls.

use crate::error::{BoxError, Error};
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

/// The number of parts of a currency unit: amounts are counted in parts of 10⁻¹².
pub(super) const PARTS: u128 = 1_000_000_000_000;

/// The cost of model calls, in the currency of the [`PriceTable`](super::PriceTable).
///
/// Amounts are integers of 10⁻¹² currency units, so sums are exact. A price of 10⁻⁶ for a million
/// tokens is one such part per token. A cost also counts the calls that had no price, or an
/// incomplete one. If there are any, the true cost is higher.
///
/// # Examples
///
/// ```
/// use ai_services::model::{Cost, Price, TokenUsage};
///
/// let price = Price::per_million(2.5, 10.0);
/// let cost = price.cost(&TokenUsage::new(1_000, 200));
/// assert_eq!(cost.to_string(), "0.0045");
/// assert_eq!(cost.amount(), 0.0045);
/// assert!(cost.is_complete());
/// assert_eq!((cost + cost).to_string(), "0.009");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    parts: u128,
    unpriced: u32,
}

impl Cost {
    pub(super) fn from_parts(parts: u128) -> Self {
        Self { parts, unpriced: 0 }
    }

    /// The cost of a call without a known price.
    pub(super) const UNPRICED: Self = Self { parts: 0, unpriced: 1 };

    /// Marks this cost of one call as a lower bound: the call is not fully priced.
    pub(super) fn at_least(self) -> Self {
        Self { unpriced: 1, ..self }
    }

    /// Creates a cost from its [`parts`](Self::parts) and the number of its
    /// [unpriced calls](Self::unpriced_calls).
    #[doc(hidden)]
    #[must_use]
    pub fn restored(parts: u128, unpriced: u32) -> Self {
        Self { parts, unpriced }
    }

    /// Returns the amount, rounded to the nearest `f64`. [`parts`](Self::parts) and the text are
    /// exact.
    #[must_use]
    pub fn amount(&self) -> f64 {
        self.parts as f64 / PARTS as f64
    }

    /// Returns the exact amount in parts of 10⁻¹².
    #[must_use]
    pub fn parts(&self) -> u128 {
        self.parts
    }

    /// Returns the number of calls that had no price or reported no token counts.
    #[must_use]
    pub fn unpriced_calls(&self) -> u32 {
        self.unpriced
    }

    /// Returns `true` if all calls are fully priced. Otherwise the amount is a lower bound.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.unpriced == 0
    }
}

/// Prints the exact amount, followed by `+?` if some calls are not fully priced.
impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.parts / PARTS, self.parts % PARTS);
        write!(f, "{whole}")?;
        if rest > 0 {
            let digits = format!("{rest:012}");
            write!(f, ".{}", digits.trim_end_matches('0'))?;
        }
        if self.unpriced > 0 { f.write_str("+?") } else { Ok(()) }
    }
}

impl Add for Cost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            parts: self.parts.saturating_add(other.parts),
            unpriced: self.unpriced.saturating_add(other.unpriced),
        }
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Cost {
    fn sum<I: Iterator<Item = Self>>(costs: I) -> Self {
        costs.fold(Self::default(), Add::add)
    }
}

/// The cost that a call of a service had incurred when it failed.
///
/// A [detail](Error::detail) of the errors of services that have a
/// price table (`AiServiceBuilder::price_table`).
///
/// # Examples
///
/// ```
/// use ai_services::Error;
/// use ai_services::model::IncurredCost;
///
/// fn report(error: &Error) {
///     if let Some(incurred) = error.detail::<IncurredCost>() {
///         eprintln!("in vain: {}", incurred.cost);
///     }
/// }
/// # report(&Error::new(ai_services::ErrorKind::Timeout, "too late"));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct IncurredCost {
    /// The known cost of all model calls.
    pub cost: Cost,
    source: Option<BoxError>,
}

impl IncurredCost {
    /// Adds the cost to the source chain of an error.
    #[doc(hidden)]
    pub fn attach_to(error: Error, cost: Cost) -> Error {
        error.map_source(|source| Self { cost, source }.into())
    }
}

impl fmt::Display for IncurredCost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} was spent", self.cost)
    }
}

impl std::error::Error for IncurredCost {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_exact() {
        let text = |parts| Cost::from_parts(parts).to_string();
        assert_eq!(text(0), "0");
        assert_eq!(text(1), "0.000000000001");
        assert_eq!(text(12 * PARTS), "12");
        assert_eq!(text(12 * PARTS + PARTS / 4), "12.25");
        assert_eq!((Cost::from_parts(PARTS) + Cost::UNPRICED).to_string(), "1+?");
    }
}
