//! Budgets of calls and conversations.

mod budgets;
mod exceeded;
mod limits;

pub(super) use budgets::{Budgets, ConversationBudget};
pub use exceeded::{BudgetExceeded, BudgetLimit, BudgetScope};
pub use limits::Budget;
