//! Prices of models, set by the application.

use super::{AnswerOrigin, ChatResponse, Cost, ModelUsage, TokenUsage};
use crate::error::Error;
use std::collections::HashMap;

/// The prices of one model, each for a million tokens.
///
/// Prices are rounded to six decimals, which is exact for the prices of all providers. A price that
/// is negative, not finite or above a million counts as unknown.
///
/// | tokens | price |
/// |---|---|
/// | input, neither read from nor written to the prompt cache | `input` |
/// | input read from the prompt cache | `cached_input`, else `input` |
/// | input written to the prompt cache | `cache_write`; if not set, `input`, and the cost is incomplete |
/// | output, reasoning included | `output` |
///
/// # Examples
///
/// ```
/// use ai_services::model::{Price, TokenUsage};
///
/// let price = Price::per_million(3.0, 15.0).cached_input(0.3).cache_write(3.75);
/// let usage = TokenUsage::new(2_000, 100).with_cached_input(Some(1_000));
/// assert_eq!(price.cost(&usage).to_string(), "0.0048");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Price {
    input: Option<u64>,
    output: Option<u64>,
    cached_input: Option<u64>,
    cache_write: Option<u64>,
}

impl Price {
    /// Creates a price from the prices of a million input tokens and a million output tokens.
    pub fn per_million(input: f64, output: f64) -> Self {
        Self {
            input: parts_per_token(input),
            output: parts_per_token(output),
            cached_input: None,
            cache_write: None,
        }
    }

    /// Sets the price of a million tokens read from the provider's prompt cache.
    pub fn cached_input(mut self, price: f64) -> Self {
        self.cached_input = parts_per_token(price);
        self
    }

    /// Sets the price of a million tokens written to the provider's prompt cache.
    pub fn cache_write(mut self, price: f64) -> Self {
        self.cache_write = parts_per_token(price);
        self
    }

    /// Returns the cost of these tokens. Without a count of input or output tokens, the cost is
    /// incomplete.
    #[must_use]
    pub fn cost(&self, usage: &TokenUsage) -> Cost {
        let cached = usage.cached_input.unwrap_or(0);
        let written = usage.cache_write_input.unwrap_or(0);
        let plain = usage.input.map(|all| all.saturating_sub(cached).saturating_sub(written));
        let counts = [
            (plain, self.input),
            (Some(cached), self.cached_input.or(self.input)),
            (Some(written), self.cache_write.or(self.input)),
            (usage.output, self.output),
        ];
        let mut parts = 0_u128;
        let mut is_complete = written == 0 || self.cache_write.is_some();
        for (count, price) in counts {
            let cost = count.and_then(|count| match count {
                0 => Some(0),
                _ => Some(u128::from(count) * u128::from(price?)),
            });
            is_complete &= cost.is_some();
            parts = parts.saturating_add(cost.unwrap_or(0));
        }
        let cost = Cost::from_parts(parts);
        if is_complete { cost } else { cost.at_least() }
    }
}

/// Converts a price for a million tokens to parts of 10⁻¹² per token.
fn parts_per_token(price: f64) -> Option<u64> {
    let parts = (price * 1e6).round();
    (0.0..=1e12).contains(&parts).then_some(parts as u64)
}

/// Prices by the names of models.
///
/// The crate has no built-in prices, because prices change and differ by contract. The currency is
/// up to the application. A trailing `*` matches any suffix. An exact match wins, then the longest
/// prefix.
///
/// A service with a price table reports the cost of each call (`Response::cost`). An answer
/// is priced by its [`model`](ChatResponse::model) field, or else by the name of the model that was
/// called. Providers often answer with a versioned name: `gpt-4o*` matches `gpt-4o-2024-08-06`, and
/// `gpt-4o` does not.
///
/// # Examples
///
/// ```
/// use ai_services::ai_service;
/// use ai_services::Response;
/// use ai_services::model::{Price, PriceTable, TokenUsage};
/// use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
///
/// #[ai_service]
/// trait Assistant {
///     async fn chat(&self, message: &str) -> ai_services::Result<Response<String>>;
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> ai_services::Result<()> {
/// let prices = PriceTable::new()
///     .price("gpt-4o*", Price::per_million(2.5, 10.0).cached_input(1.25))
///     .price("gpt-4o-mini*", Price::per_million(0.15, 0.6))
///     .price("scripted", Price::per_million(1.0, 2.0));
/// let answer = ScriptedAnswer::text("Hi.").with_usage(TokenUsage::new(100, 10));
/// let assistant = AssistantService::builder()
///     .chat_model(ScriptedChatModel::new([answer]))
///     .price_table(prices)
///     .build()?;
/// let cost = assistant.chat("Hello!").await?.cost.expect("there is a table");
/// assert_eq!(cost.to_string(), "0.00012");
/// assert!(cost.is_complete());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct PriceTable {
    exact: HashMap<Box<str>, Price>,
    /// Sorted by length, the longest first.
    prefixes: Vec<(Box<str>, Price)>,
}

impl PriceTable {
    /// Creates a table without prices.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the price of a model. With a trailing `*`, the price applies to all models with that
    /// prefix. Replaces an earlier price of the same name.
    pub fn price(mut self, model: &str, price: Price) -> Self {
        match model.strip_suffix('*') {
            None => {
                self.exact.insert(model.into(), price);
            }
            Some(prefix) => {
                self.prefixes.retain(|(known, _)| **known != *prefix);
                let at = self.prefixes.partition_point(|(known, _)| known.len() >= prefix.len());
                self.prefixes.insert(at, (prefix.into(), price));
            }
        }
        self
    }

    /// Returns the price of a model, if the table has one.
    #[must_use]
    pub fn price_of(&self, model: &str) -> Option<Price> {
        let by_prefix = || {
            let mut prices = self.prefixes.iter();
            prices.find_map(|(known, price)| model.starts_with(&**known).then_some(*price))
        };
        self.exact.get(model).copied().or_else(by_prefix)
    }

    /// Returns the cost of a usage of this model.
    #[must_use]
    pub fn cost(&self, model: &str, usage: &TokenUsage) -> Cost {
        self.price_of(model).map_or(Cost::UNPRICED, |price| price.cost(usage))
    }

    /// Returns the cost of an answer, including failed attempts before it. `model` is the name of
    /// the model that was called.
    #[must_use]
    pub fn cost_of(&self, response: &ChatResponse, model: &str) -> Cost {
        match &response.origin {
            AnswerOrigin::Model => {
                self.cost(response.model.as_deref().unwrap_or(model), &response.usage)
            }
            AnswerOrigin::Attempts(usages) => self.sum(usages),
            AnswerOrigin::Cache => Cost::default(),
        }
    }

    /// Returns the known cost of a failed call of `model`, as reported by the error.
    #[must_use]
    pub fn cost_of_error(&self, error: &Error, model: &str) -> Cost {
        self.sum(&ModelUsage::of_error(error, model))
    }

    fn sum(&self, usages: &[ModelUsage]) -> Cost {
        usages.iter().map(|one| self.cost(&one.model, &one.usage)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::AiMessage;

    #[test]
    fn exact_name_wins_then_longest_prefix() {
        let price = |n: f64| Price::per_million(n, n);
        let table = PriceTable::new()
            .price("*", price(1.0))
            .price("gpt-4o-mini*", price(3.0))
            .price("gpt-4o*", price(2.0))
            .price("gpt-4o", price(4.0));
        let names = ["claude", "gpt-4o-2024", "gpt-4o-mini-1", "gpt-4o"];
        assert_eq!(
            names.map(|name| table.price_of(name).unwrap()),
            [price(1.0), price(2.0), price(3.0), price(4.0)]
        );
        assert_eq!(table.price("*", price(9.0)).price_of("x"), Some(price(9.0)));
    }

    #[test]
    fn missing_prices_make_the_cost_incomplete() {
        let table = PriceTable::new().price("a", Price::per_million(1.0, 1.0));
        let usage = TokenUsage::new(1, 1);
        assert_eq!(table.cost("a", &usage).parts(), 2_000_000);
        assert!(!table.cost("b", &usage).is_complete());
        assert!(!table.cost("a", &TokenUsage::default()).is_complete());
        assert!(!table.cost("a", &usage.with_cache_write_input(Some(1))).is_complete());
        assert!(table.cost("a", &usage.with_cached_input(Some(1))).is_complete());
        for wrong in [-1.0, f64::NAN, f64::INFINITY, 1e7] {
            assert!(!Price::per_million(wrong, 0.0).cost(&usage).is_complete(), "{wrong}");
        }
    }

    #[test]
    fn cached_count_above_the_input_does_not_underflow() {
        let usage = TokenUsage::new(1, 0).with_cached_input(Some(5));
        assert_eq!(Price::per_million(1.0, 1.0).cost(&usage).parts(), 5_000_000);
        let huge = TokenUsage::new(u64::MAX, u64::MAX);
        assert!(Price::per_million(1e6, 1e6).cost(&huge).is_complete());
    }

    #[test]
    fn answer_is_priced_by_the_model_that_answered() {
        let table = PriceTable::new()
            .price("a", Price::per_million(1.0, 0.0))
            .price("b", Price::per_million(2.0, 0.0));
        let mut response = ChatResponse::new(AiMessage::new("x")).with_usage(TokenUsage::new(1, 0));
        assert_eq!(table.cost_of(&response, "a").parts(), 1_000_000);
        response.model = Some("b".into());
        assert_eq!(table.cost_of(&response, "a").parts(), 2_000_000);
        response.origin = AnswerOrigin::Cache;
        assert_eq!(table.cost_of(&response, "a"), Cost::default());
        let usage = TokenUsage::new(1, 0);
        response.origin =
            AnswerOrigin::Attempts(vec![ModelUsage::new("a", usage), ModelUsage::new("b", usage)]);
        assert_eq!(table.cost_of(&response, "a").parts(), 3_000_000);
    }
}
