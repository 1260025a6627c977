//! The amounts that one turn has spent.

use crate::Error;
use crate::model::{ChatResponse, Cost, IncurredCost, PriceTable, TokenUsage, UsageMeter};
use serde::{Deserialize, Serialize};
use std::ops::AddAssign;
use std::time::Duration;
use tokio::time::Instant;

/// The price table of a service and the name of its chat model.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prices<'a> {
    pub(super) table: &'a PriceTable,
    pub(super) model: &'a str,
}

/// The amounts that a turn has spent, in all attempts and processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Record", into = "Record")]
pub(super) struct Spent {
    pub(super) usage: TokenUsage,
    /// `None` if the service has no prices.
    pub(super) cost: Option<Cost>,
    /// Number of requests to the chat model.
    pub(super) model_calls: u64,
    /// Number of answers whose tool calls were accepted.
    pub(super) tool_rounds: u64,
    /// Number of these tool calls.
    pub(super) tool_calls: u64,
    /// Zero unless a budget limits the running time.
    pub(super) running_time: Duration,
}

/// The stored form. Costs of more than 2⁶⁴ parts are 18 million currency units.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Record {
    usage: TokenUsage,
    /// The parts, and the number of unpriced calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<(u64, u32)>,
    model_calls: u64,
    tool_rounds: u64,
    tool_calls: u64,
    #[serde(skip_serializing_if = "is_zero")]
    ms: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(ms: &u64) -> bool {
    *ms == 0
}

impl Spent {
    /// Adds a response of the chat model.
    pub(super) fn add(&mut self, response: &ChatResponse, prices: Option<Prices<'_>>) {
        self.usage += response.usage;
        if let Some(Prices { table, model }) = prices {
            *self.cost.get_or_insert_default() += table.cost_of(response, model);
        }
    }

    /// Moves the usage of other models out of `meter` and adds it.
    pub(super) fn add_metered(&mut self, meter: &UsageMeter, prices: Option<Prices<'_>>) {
        let readings = meter.take();
        // The usual turn calls one model.
        if !readings.is_empty() {
            self.add_readings(readings, prices);
        }
    }

    fn add_readings(
        &mut self,
        readings: impl IntoIterator<Item = (Box<str>, TokenUsage)>,
        prices: Option<Prices<'_>>,
    ) {
        for (model, usage) in readings {
            self.add_usage(&model, usage, prices);
        }
    }

    /// Adds the usage of the model with this name.
    pub(super) fn add_usage(&mut self, model: &str, usage: TokenUsage, prices: Option<Prices<'_>>) {
        self.usage += usage;
        if let Some(Prices { table, .. }) = prices {
            *self.cost.get_or_insert_default() += table.cost(model, &usage);
        }
    }

    /// Returns the number of tokens, as far as they were reported.
    pub(super) fn tokens(&self) -> u64 {
        self.usage.total().unwrap_or(0)
    }

    /// Returns the error with the usage and cost of the whole turn, its own included.
    pub(super) fn attach_to(&self, error: Error, prices: Option<Prices<'_>>) -> Error {
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

impl AddAssign for Spent {
    fn add_assign(&mut self, other: Self) {
        self.usage += other.usage;
        if let Some(cost) = other.cost {
            *self.cost.get_or_insert_default() += cost;
        }
        self.model_calls = self.model_calls.saturating_add(other.model_calls);
        self.tool_rounds = self.tool_rounds.saturating_add(other.tool_rounds);
        self.tool_calls = self.tool_calls.saturating_add(other.tool_calls);
        self.running_time = self.running_time.saturating_add(other.running_time);
    }
}

impl From<Spent> for Record {
    fn from(spent: Spent) -> Self {
        let Spent { usage, cost, model_calls, tool_rounds, tool_calls, running_time } = spent;
        let parts = |cost: Cost| u64::try_from(cost.parts()).unwrap_or(u64::MAX);
        Self {
            usage,
            cost: cost.map(|cost| (parts(cost), cost.unpriced_calls())),
            model_calls,
            tool_rounds,
            tool_calls,
            ms: u64::try_from(running_time.as_millis()).unwrap_or(u64::MAX),
        }
    }
}

impl From<Record> for Spent {
    fn from(record: Record) -> Self {
        let Record { usage, cost, model_calls, tool_rounds, tool_calls, ms } = record;
        Self {
            usage,
            cost: cost.map(|(parts, unpriced)| Cost::restored(parts.into(), unpriced)),
            model_calls,
            tool_rounds,
            tool_calls,
            running_time: Duration::from_millis(ms),
        }
    }
}

/// The amounts that a turn has spent, growing while its tools run.
#[derive(Debug)]
pub(super) struct RunningTotal<'a> {
    /// The amounts at the start of the tools.
    pub(super) start: Spent,
    /// The time of the start, if the running time is measured.
    pub(super) since: Option<Instant>,
    pub(super) meter: &'a UsageMeter,
    pub(super) prices: Option<Prices<'a>>,
}

impl RunningTotal<'_> {
    /// Returns the amounts now. `None` if nothing was spent since the start.
    pub(super) fn now(&self) -> Option<Spent> {
        let mut spent = self.start;
        spent.add_readings(self.meter.pending(), self.prices);
        if let Some(since) = self.since {
            spent.running_time += since.elapsed();
        }
        (spent != self.start).then_some(spent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn record_keeps_all_amounts() {
        let spent = Spent {
            usage: TokenUsage::new(7, 2).with_total(Some(10)),
            cost: Some(Cost::restored(45, 1)),
            model_calls: 1,
            tool_rounds: 2,
            tool_calls: 3,
            running_time: Duration::from_millis(1_500),
        };
        let json = serde_json::to_string(&spent).unwrap();
        assert_eq!(serde_json::from_str::<Spent>(&json).unwrap(), spent);
        assert_eq!(serde_json::from_str::<Spent>("{}").unwrap(), Spent::default());
    }
}
