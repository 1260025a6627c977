//! The limits of tokens and cost that nested calls check, too.

use super::budgets::{Budgets, ConversationBudget};
use super::limits::Budget;
use crate::Result;
use crate::model::{PriceTable, UsageMeter};
use crate::service::spent::{Prices, RunningTotal, Spent};
use std::sync::{Arc, Mutex, PoisonError};

/// The limits of a call, and of the calls around it, for the services that are its tools.
pub(in crate::service) struct SharedBudget {
    state: Mutex<State>,
    /// The meter of the call, which counts the tokens of nested calls at once.
    meter: UsageMeter,
    prices: Option<Arc<PriceTable>>,
    outer: Option<Arc<Self>>,
}

/// The limits and the amounts at the start of the tools.
#[derive(Clone, Copy, Default)]
struct State {
    spent: Spent,
    call: Option<Budget>,
    conversation: Option<(Budget, Spent)>,
}

impl SharedBudget {
    pub(in crate::service) fn new(
        meter: UsageMeter,
        prices: Option<Arc<PriceTable>>,
        outer: Option<Arc<Self>>,
    ) -> Self {
        Self { state: Mutex::default(), meter, prices, outer }
    }

    /// Sets the limits and the amounts before tools run.
    pub(in crate::service) fn update(&self, spent: Spent, budgets: Budgets<'_>) {
        let call = budgets.call.map(Budget::of_amounts);
        let conversation = budgets.conversation.map(|it| (it.budget.of_amounts(), it.earlier));
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) =
            State { spent, call, conversation };
    }

    /// Checks the limits before a request of a nested call.
    ///
    /// # Errors
    ///
    /// If a limit is reached.
    pub(in crate::service) fn check(&self) -> Result<()> {
        let State { spent, call, conversation } =
            *self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let prices = self.prices.as_deref().map(|table| Prices { table, model: "" });
        let total = RunningTotal { start: spent, since: None, meter: &self.meter, prices };
        let conversation = conversation
            .as_ref()
            .map(|(budget, earlier)| ConversationBudget { budget, earlier: *earlier });
        let budgets = Budgets { call: call.as_ref(), conversation: conversation.as_ref() };
        budgets.check_request(&total.now().unwrap_or(spent))?;
        self.outer.as_ref().map_or(Ok(()), |outer| outer.check())
    }
}
