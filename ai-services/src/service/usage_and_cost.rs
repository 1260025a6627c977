//! Token usage and cost of the model calls of one turn.

use crate::Error;
use crate::model::{ChatResponse, Cost, IncurredCost, PriceTable, TokenUsage, UsageMeter};

/// The price table of a service and the name of its chat model.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prices<'a> {
    pub(super) table: &'a PriceTable,
    pub(super) model: &'a str,
}

/// Token usage, and the cost if the service has prices.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct UsageAndCost {
    pub(super) usage: TokenUsage,
    pub(super) cost: Option<Cost>,
}

impl UsageAndCost {
    /// Adds a response of the chat model.
    pub(super) fn add(&mut self, response: &ChatResponse, prices: Option<Prices<'_>>) {
        self.usage += response.usage;
        if let Some(Prices { table, model }) = prices {
            *self.cost.get_or_insert_default() += table.cost_of(response, model);
        }
    }

    /// Moves the usage of other models out of `meter` and adds it.
    pub(super) fn add_metered(&mut self, meter: &UsageMeter, prices: Option<Prices<'_>>) {
        for (model, usage) in meter.take() {
            self.usage += usage;
            if let Some(Prices { table, .. }) = prices {
                *self.cost.get_or_insert_default() += table.cost(&model, &usage);
            }
        }
    }

    /// Returns the error with the usage and cost of the whole turn, its own included.
    pub(super) fn attach_to(self, error: Error, prices: Option<Prices<'_>>) -> Error {
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
