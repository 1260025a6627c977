//! The account of a turn: the amounts that it has spent, checked against its budgets.

use crate::Result;
use crate::model::{ChatResponse, UsageMeter};
use crate::service::budget::{Budgets, SharedBudget};
use crate::service::spent::{Prices, RunningTotal, Spent};
use tokio::time::Instant;

/// The account of a turn.
#[derive(Debug)]
pub(crate) struct Account<'a> {
    budgets: Budgets<'a>,
    prices: Option<Prices<'a>>,
    spent: Spent,
    /// The end of the running time in `spent`. `None` if the turn is paused, or its running time is not measured.
    counted_until: Option<Instant>,
    withholds_tools: bool,
    /// `true` if the request after the last one of the budgets has begun.
    has_last_request: bool,
}

impl<'a> Account<'a> {
    /// Creates the account of a turn, after `spent` was spent on it. `started` is the start of the running time, if
    /// it is measured.
    pub(crate) fn new(
        budgets: Budgets<'a>,
        prices: Option<Prices<'a>>,
        spent: Spent,
        started: Option<Instant>,
    ) -> Self {
        Self {
            budgets,
            prices,
            spent,
            counted_until: started,
            withholds_tools: false,
            has_last_request: false,
        }
    }

    /// Returns the amounts without the running time since the last step.
    pub(crate) fn spent(&self) -> &Spent {
        &self.spent
    }

    /// Shares the limits and amounts with nested calls.
    pub(crate) fn share(&self, shared: &SharedBudget) {
        shared.update(self.spent, self.budgets);
    }

    /// Adds the usage of other models on behalf of the turn.
    pub(crate) fn add_metered(&mut self, meter: &UsageMeter) {
        self.spent.add_metered(meter, self.prices);
    }

    /// Adds the usage of other models and the running time, and returns the sum.
    pub(crate) fn close(&mut self, meter: &UsageMeter) -> Spent {
        self.add_metered(meter);
        self.count_time();
        self.spent
    }

    /// Returns the amounts, growing while the tools of a round run.
    pub(crate) fn running_total<'m>(&self, meter: &'m UsageMeter) -> RunningTotal<'m>
    where
        'a: 'm,
    {
        RunningTotal { start: self.spent, since: self.counted_until, meter, prices: self.prices }
    }

    /// Counts a request to the model.
    ///
    /// # Errors
    ///
    /// If a budget is used up, unless this is the last request, which follows results of tools.
    pub(super) fn begin_request(&mut self, follows_tools: bool) -> Result<()> {
        self.count_time();
        let finishes = self.budgets.finish();
        if let Err(error) = self.budgets.check_request(&self.spent) {
            if !finishes || !follows_tools || self.has_last_request {
                return Err(error);
            }
            (self.has_last_request, self.withholds_tools) = (true, true);
        }
        self.withholds_tools |= finishes && self.budgets.allow_no_tools(&self.spent);
        self.spent.model_calls += 1;
        Ok(())
    }

    /// Returns `true` if the model must not call tools.
    pub(super) fn withholds_tools(&self) -> bool {
        self.withholds_tools
    }

    /// Adds an answer of the model.
    pub(super) fn add_answer(&mut self, response: &ChatResponse) {
        self.spent.add(response, self.prices);
    }

    /// Counts the tool calls of an answer. Returns `false` if none of them may start, and a request without tools
    /// follows.
    ///
    /// # Errors
    ///
    /// If a budget does not allow the calls.
    pub(super) fn admit_tools(&mut self, calls: usize) -> Result<bool> {
        self.count_time();
        let calls = u64::try_from(calls).unwrap_or(u64::MAX);
        if let Err(error) = self.budgets.check_tools(&self.spent, calls) {
            if !self.budgets.finish() || self.withholds_tools {
                return Err(error);
            }
            self.withholds_tools = true;
            return Ok(false);
        }
        self.spent.tool_rounds += 1;
        self.spent.tool_calls = self.spent.tool_calls.saturating_add(calls);
        Ok(true)
    }

    /// Returns the end of the running time, if it is limited and not over.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let left = self.budgets.time_left(&self.spent).filter(|left| !left.is_zero())?;
        self.counted_until?.checked_add(left)
    }

    /// Returns the error of a request that was dropped at the deadline.
    pub(crate) fn out_of_time(&mut self) -> crate::Error {
        self.count_time();
        self.budgets.out_of_time(&self.spent)
    }

    /// Waits without counting the time.
    pub(crate) async fn while_paused<T>(&mut self, wait: impl Future<Output = T>) -> T {
        self.count_time();
        let is_measured = self.counted_until.take().is_some();
        let outcome = wait.await;
        self.counted_until = is_measured.then(Instant::now);
        outcome
    }

    fn count_time(&mut self) {
        if let Some(until) = &mut self.counted_until {
            let now = Instant::now();
            self.spent.running_time += now.saturating_duration_since(*until);
            *until = now;
        }
    }
}
