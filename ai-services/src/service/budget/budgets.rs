//! The budgets of a turn.

use super::exceeded::{BudgetExceeded, BudgetLimit, BudgetScope};
use super::limits::{Budget, stricter};
use crate::service::spent::Spent;
use crate::{Error, ErrorKind, Result};
use std::time::Duration;

/// The budget of a conversation, and the amounts of its stored turns.
#[derive(Debug)]
pub(in crate::service) struct ConversationBudget<'a> {
    pub(super) budget: &'a Budget,
    pub(super) earlier: Spent,
}

impl<'a> ConversationBudget<'a> {
    /// Creates the budget of a conversation whose newest turn records these amounts.
    ///
    /// # Errors
    ///
    /// If the amounts are not readable.
    pub(in crate::service) fn new(budget: &'a Budget, earlier: Option<&str>) -> Result<Self> {
        let earlier = earlier.map(serde_json::from_str).transpose().map_err(|source| {
            let message = "the amounts that the conversation has spent cannot be read; delete the conversation, or build the \
                           service without `.conversation_budget(...)`";
            Error::new(ErrorKind::Store, message).with_source(source)
        })?;
        Ok(Self { budget, earlier: earlier.unwrap_or_default() })
    }

    /// Returns the amounts that the conversation has spent with a turn, to be stored.
    pub(in crate::service) fn sum_with(&self, turn: &Spent) -> Result<String> {
        let mut sum = self.earlier;
        sum += *turn;
        serde_json::to_string(&sum).map_err(|source| {
            let message = "cannot write the amounts that the conversation has spent";
            Error::new(ErrorKind::Store, message).with_source(source)
        })
    }
}

/// The budgets of a turn.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::service) struct Budgets<'a> {
    pub(in crate::service) call: Option<&'a Budget>,
    pub(in crate::service) conversation: Option<&'a ConversationBudget<'a>>,
}

impl Budgets<'_> {
    /// Returns `true` if the model gives a last answer when a limit is reached.
    pub(in crate::service) fn finish(self) -> bool {
        let conversation =
            self.conversation.is_some_and(|conversation| conversation.budget.finishes());
        conversation || self.call.is_some_and(|budget| budget.finishes())
    }

    /// Checks if another request may be sent.
    pub(in crate::service) fn check_request(self, spent: &Spent) -> Result<()> {
        self.check(spent, "", |budget, spent| budget.used_up(spent))
    }

    /// Checks if the tools of an answer with this number of calls may start.
    pub(in crate::service) fn check_tools(self, spent: &Spent, calls: u64) -> Result<()> {
        self.check(spent, ", and the model calls more tools", |budget, spent| {
            budget.used_up_by_work(spent).or_else(|| budget.exceeded_by_tools(spent, calls))
        })
    }

    /// Returns `true` if a model that calls one tool would exceed a limit.
    pub(in crate::service) fn allow_no_tools(self, spent: &Spent) -> bool {
        self.check(spent, "", |budget, spent| budget.exceeded_by_tools(spent, 1)).is_err()
    }

    /// Returns the error of a request that was dropped because the running time is over.
    pub(in crate::service) fn out_of_time(self, spent: &Spent) -> Error {
        let is_over = |budget: &Budget, spent: &Spent| {
            let max = budget.running_time?;
            (spent.running_time >= max).then_some(BudgetLimit::RunningTime)
        };
        let outcome = self.check(spent, "", is_over);
        let untimely = || Error::new(ErrorKind::LimitExceeded, "the running time is over");
        outcome.err().unwrap_or_else(untimely)
    }

    /// Returns the time that is left, if it is limited.
    pub(in crate::service) fn time_left(self, spent: &Spent) -> Option<Duration> {
        let left = |budget: &Budget, spent: Duration| {
            budget.running_time.map(|max| max.saturating_sub(spent))
        };
        let call = self.call.and_then(|budget| left(budget, spent.running_time));
        let conversation = self.conversation.and_then(|ConversationBudget { budget, earlier }| {
            left(budget, earlier.running_time.saturating_add(spent.running_time))
        });
        stricter(call, conversation)
    }

    fn check(
        self,
        spent: &Spent,
        more: &str,
        find: impl Fn(&Budget, &Spent) -> Option<BudgetLimit>,
    ) -> Result<()> {
        if let Some(budget) = self.call
            && let Some(limit) = find(budget, spent)
        {
            return Err(exceeded(BudgetScope::Call, (budget, spent), limit, more));
        }
        if let Some(ConversationBudget { budget, earlier }) = self.conversation {
            let mut sum = *earlier;
            sum += *spent;
            if let Some(limit) = find(budget, &sum) {
                return Err(exceeded(BudgetScope::Conversation, (budget, &sum), limit, more));
            }
        }
        Ok(())
    }
}

fn exceeded(
    scope: BudgetScope,
    (budget, spent): (&Budget, &Spent),
    limit: BudgetLimit,
    more: &str,
) -> Error {
    let (max, spent) = budget.describe(limit, spent);
    let message = format!(
        "the budget of the {scope} allows {max}: {spent} were spent{more}; raise `Budget::{limit}` if it needs more"
    );
    Error::new(ErrorKind::LimitExceeded, message).with_source(BudgetExceeded { scope, limit })
}
