//! The limit that ended a call.

use std::fmt;

/// A limit of a [`Budget`](crate::Budget).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BudgetLimit {
    /// The number of requests to the chat model.
    ModelCalls,
    /// The number of answers with tool calls.
    ToolRounds,
    /// The number of tool calls.
    ToolCalls,
    /// The number of input and output tokens.
    Tokens,
    /// The cost.
    Cost,
    /// The running time.
    RunningTime,
}

/// The turns that a [`Budget`](crate::Budget) applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BudgetScope {
    /// One call.
    Call,
    /// The stored turns of a conversation, and the current one.
    Conversation,
}

/// The limit that ended a call: a [detail](crate::Error::detail) of errors of the kind
/// [`ErrorKind::LimitExceeded`](crate::ErrorKind::LimitExceeded).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BudgetExceeded {
    /// The budget with the limit.
    pub scope: BudgetScope,
    /// The limit.
    pub limit: BudgetLimit,
}

/// Prints the name of the method that sets the limit.
impl fmt::Display for BudgetLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ModelCalls => "model_calls",
            Self::ToolRounds => "tool_rounds",
            Self::ToolCalls => "tool_calls",
            Self::Tokens => "tokens",
            Self::Cost => "cost",
            Self::RunningTime => "running_time",
        })
    }
}

impl fmt::Display for BudgetScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Call => "call",
            Self::Conversation => "conversation",
        })
    }
}

impl fmt::Display for BudgetExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the limit `{}` of the {} is reached", self.limit, self.scope)
    }
}

impl std::error::Error for BudgetExceeded {}
