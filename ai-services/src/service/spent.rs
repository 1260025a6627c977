//! What the model calls of a turn took.

use crate::error::Error;
use crate::model::{ChatResponse, Cost, IncurredCost, PriceTable, TokenUsage, UsageMeter};

/// The prices of a service, and the model that it asks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prices<'a> {
    pub(crate) table: &'a PriceTable,
    pub(crate) model: &'a str,
}

/// Tokens, and money if there are prices.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spent {
    pub(crate) usage: TokenUsage,
    pub(crate) cost: Option<Cost>,
}

impl Spent {
    pub(crate) fn add(&mut self, response: &ChatResponse, prices: Option<Prices<'_>>) {
        self.usage += response.usage;
        if let Some(Prices { table, model }) = prices {
            *self.cost.get_or_insert_default() += table.cost_of(response, model);
        }
    }

    /// Adds what other models used on behalf of the call since the last time.
    pub(crate) fn count(&mut self, meter: &UsageMeter, prices: Option<Prices<'_>>) {
        for (model, usage) in meter.take() {
            self.usage += usage;
            if let Some(Prices { table, .. }) = prices {
                *self.cost.get_or_insert_default() += table.cost(&model, &usage);
            }
        }
    }

    /// The error with everything that was spent, on itself included.
    pub(crate) fn attach_to(self, error: Error, prices: Option<Prices<'_>>) -> Error {
        let own = error.usage().copied().unwrap_or_default();
        let cost = prices.map(|Prices { table, model }| {
            self.cost.unwrap_or_default() + table.cost_of_error(&error, model)
        });
        let error = error.with_usage(self.usage + own);
        match cost {
            Some(cost) => IncurredCost::attach_to(error, cost),
            None => error,
        }
    }
}
