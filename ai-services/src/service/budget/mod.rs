//! Budgets of calls and conversations.

mod budgets;
mod exceeded;
mod limits;
mod shared;

pub(super) use budgets::{Budgets, ConversationBudget};
pub use exceeded::{BudgetExceeded, BudgetLimit, BudgetScope};
pub use limits::Budget;
pub(super) use shared::SharedBudget;
