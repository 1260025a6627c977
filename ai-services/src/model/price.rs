//! Prices of models, given by the application.

use super::{AnswerOrigin, ChatResponse, Cost, ModelUsage, TokenUsage};
use crate::error::Error;
use std::collections::HashMap;

/// The prices of one model, each for a million tokens.
///
/// Prices are kept to six decimals, which is exact for all that providers ask. One that is negative,
/// not finite or above a million counts as unknown.
///
/// | tokens | price |
/// |---|---|
/// | input, neither read from nor written into the prompt cache | `input` |
/// | input read from the prompt cache | `cached_input`, else `input` |
/// | input written into the prompt cache | `cache_write`; unknown unless given, counted as `input` |
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
    /// Prices of a million tokens of input and of output.
    pub fn per_million(input: f64, output: f64) -> Self {
        Self {
            input: parts_per_token(input),
            output: parts_per_token(output),
            cached_input: None,
            cache_write: None,
        }
    }

    /// Sets the price of a million tokens that the provider had in its prompt cache.
    pub fn cached_input(mut self, price: f64) -> Self {
        self.cached_input = parts_per_token(price);
        self
    }

    /// Sets the price of a million tokens that the provider writes into its prompt cache.
    pub fn cache_write(mut self, price: f64) -> Self {
        self.cache_write = parts_per_token(price);
        self
    }

    /// What these tokens cost. A usage without input or output is not fully priced.
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
        let cost = Cost::of_parts(parts);
        if is_complete { cost } else { cost.at_least() }
    }
}

/// A price for a million tokens in parts of 10⁻¹² for one.
fn parts_per_token(price: f64) -> Option<u64> {
    let parts = (price * 1e6).round();
    (0.0..=1e12).contains(&parts).then_some(parts as u64)
}

/// What models cost: prices by the names of models.
///
/// No prices are built in: they change, and differ by contract. The currency is yours as well. A name
/// that ends in `*` stands for all that begin like it. An exact name wins, else the longest beginning.
///
/// A service that is given a table tells what a call [cost](crate::Response::cost). An answer is priced
/// by the model that it [names](ChatResponse::model), else by the name of the model that was asked.
/// Providers often answer with the name of a version: `gpt-4o-2024-08-06` is a model that `gpt-4o*`
/// prices and `gpt-4o` does not.
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
    /// The longest first.
    beginnings: Vec<(Box<str>, Price)>,
}

impl PriceTable {
    /// A table without prices.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the price of a model, or of all models whose names begin with what stands before a final
    /// `*`. Replaces what the same name had.
    pub fn price(mut self, model: &str, price: Price) -> Self {
        match model.strip_suffix('*') {
            None => {
                self.exact.insert(model.into(), price);
            }
            Some(beginning) => {
                self.beginnings.retain(|(known, _)| **known != *beginning);
                let at =
                    self.beginnings.partition_point(|(known, _)| known.len() >= beginning.len());
                self.beginnings.insert(at, (beginning.into(), price));
            }
        }
        self
    }

    /// The price of a model, if the table has it.
    #[must_use]
    pub fn price_of(&self, model: &str) -> Option<Price> {
        let by_beginning = || {
            let mut prices = self.beginnings.iter();
            prices.find_map(|(known, price)| model.starts_with(&**known).then_some(*price))
        };
        self.exact.get(model).copied().or_else(by_beginning)
    }

    /// What a usage of a model costs.
    #[must_use]
    pub fn cost(&self, model: &str, usage: &TokenUsage) -> Cost {
        self.price_of(model).map_or(Cost::UNPRICED, |price| price.cost(usage))
    }

    /// What an answer cost, failed attempts before it included; `model` is the name of the model that
    /// was asked.
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

    /// What had been spent on a call of `model` that failed, as far as the error tells.
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
    fn longest_beginning_wins_and_exact_names_first() {
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
    fn what_has_no_price_is_told() {
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
    fn counts_beyond_the_input_do_not_become_negative() {
        let usage = TokenUsage::new(1, 0).with_cached_input(Some(5));
        assert_eq!(Price::per_million(1.0, 1.0).cost(&usage).parts(), 5_000_000);
        let huge = TokenUsage::new(u64::MAX, u64::MAX);
        assert!(Price::per_million(1e6, 1e6).cost(&huge).is_complete());
    }

    #[test]
    fn answers_are_priced_by_the_model_that_gave_them() {
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
