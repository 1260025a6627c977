//! The limits of a budget.

use super::exceeded::BudgetLimit;
use crate::service::spent::Spent;
use crate::{Error, Result};
use std::time::Duration;

/// Largest number of rounds of tool calls in one call, unless a budget sets another one.
const TOOL_ROUNDS: u64 = 32;

/// Limits of the amounts that a call or a conversation may spend.
///
/// The budget of [`AiServiceBuilder::budget`](crate::AiServiceBuilder::budget) applies to each call. The budget of
/// [`AiServiceBuilder::conversation_budget`](crate::AiServiceBuilder::conversation_budget) applies to the sum over the
/// stored turns of a conversation and the current turn. `#[budget(…)]` on a trait or a method restricts the calls of
/// its methods further: the stricter limit counts.
///
/// Limits are checked before something is spent: before each request to the model, also if it repeats or repairs an
/// answer, and before tools start. If an answer calls more tools than are left, none of them starts. The size of an
/// answer is known when it has arrived, so a limit of tokens or cost is exceeded by at most one answer of the model,
/// and by the models that tools and guardrails call meanwhile.
///
/// A call that reaches a limit and needs more fails with
/// [`ErrorKind::LimitExceeded`](crate::ErrorKind::LimitExceeded). The error has a
/// [`BudgetExceeded`](crate::BudgetExceeded) as a detail, and like every error the usage, the cost and the
/// [work so far](crate::UnfinishedTurn). With
/// [`finish_without_tools`](Self::finish_without_tools), the model gives an answer first.
///
/// The [guide](crate::docs::budgets) describes the rules, also for conversations and durable turns.
///
/// # Examples
///
/// ```
/// use ai_services::message::ToolCall;
/// use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
/// use ai_services::{Budget, BudgetExceeded, BudgetLimit, ErrorKind, ai_service, tool};
///
/// #[ai_service]
/// trait Assistant {
///     async fn chat(&self, message: &str) -> ai_services::Result<String>;
/// }
///
/// /// Returns the next page of the search results.
/// #[tool(read_only)]
/// fn next_page() -> &'static str {
///     "nothing new"
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> ai_services::Result<()> {
/// // A model that never stops searching.
/// let model = ScriptedChatModel::from_fn(|number, _| {
///     ScriptedAnswer::tool_calls([ToolCall::new(number.to_string(), "next_page", "{}")])
/// });
/// let assistant = AssistantService::builder()
///     .chat_model(model.clone())
///     .tools(next_page::tool())
///     .budget(Budget::new().tool_rounds(5).tokens(50_000))
///     .build()?;
///
/// let error = assistant.chat("Where is the report?").await.unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::LimitExceeded);
/// assert_eq!(error.detail().map(|it: &BudgetExceeded| it.limit), Some(BudgetLimit::ToolRounds));
/// assert_eq!(model.requests().len(), 6);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
#[must_use]
pub struct Budget {
    /// Largest number of requests to the chat model. Default: unlimited.
    pub model_calls: Option<u64>,
    /// Largest number of answers with tool calls. Default: 32 for a call, unlimited for a conversation.
    pub tool_rounds: Option<u64>,
    /// Largest number of tool calls. Default: unlimited.
    pub tool_calls: Option<u64>,
    /// Largest number of input and output tokens. Default: unlimited.
    pub tokens: Option<u64>,
    /// Largest cost, in the currency of the price table. Default: unlimited.
    pub cost: Option<f64>,
    /// Longest running time. Default: unlimited.
    pub running_time: Option<Duration>,
    finishes: bool,
}

impl Budget {
    /// Creates a budget with the defaults.
    pub const fn new() -> Self {
        Self {
            model_calls: None,
            tool_rounds: None,
            tool_calls: None,
            tokens: None,
            cost: None,
            running_time: None,
            finishes: false,
        }
    }

    /// Sets the largest number of requests to the chat model, including those that repeat or repair an answer.
    ///
    /// Models that judge, summarize, rewrite queries or moderate do not count, and neither do the retries of a client
    /// within one request.
    pub const fn model_calls(mut self, max: u64) -> Self {
        self.model_calls = Some(max);
        self
    }

    /// Sets the largest number of answers with tool calls.
    pub const fn tool_rounds(mut self, max: u64) -> Self {
        self.tool_rounds = Some(max);
        self
    }

    /// Sets the largest number of tool calls.
    pub const fn tool_calls(mut self, max: u64) -> Self {
        self.tool_calls = Some(max);
        self
    }

    /// Sets the largest number of input and output tokens, as the providers report them.
    ///
    /// All models that add their usage to the call count: the chat model, and those in its
    /// [meter](crate::model::UsageMeter).
    pub const fn tokens(mut self, max: u64) -> Self {
        self.tokens = Some(max);
        self
    }

    /// Sets the largest cost, in the currency of the [price table](crate::AiServiceBuilder::price_table), which is
    /// required. The same models count as for [`tokens`](Self::tokens). A model without a price costs nothing.
    pub const fn cost(mut self, max: f64) -> Self {
        self.cost = Some(max);
        self
    }

    /// Sets the longest running time.
    ///
    /// A turn runs from the load of its history to its accepted answer, in all attempts. It does not run while it waits
    /// for approval, for another call on its conversation, or for the next process. When the time is over, the request
    /// to the model that is under way is dropped, and the call fails; its tokens are unknown. A tool that is `async` is
    /// stopped as by its own time limit. Retrieval and guardrails are not stopped.
    pub const fn running_time(mut self, max: Duration) -> Self {
        self.running_time = Some(max);
        self
    }

    /// Lets the model finish: when a limit is reached after a round of tool calls, one last request goes out, in which
    /// the model must not call tools. Default: the call fails.
    ///
    /// The last request is made in addition to the limits, so that tokens or cost are exceeded by at most two answers.
    /// It has no limit of running time if that was the limit. If rounds or tool calls are used up, all further requests
    /// of the call are without tools, within the other limits. Calls of an answer that must not start get an error as
    /// their result.
    ///
    /// The tools stay in the request, so that prompt caches stay valid; a model without
    /// [`Capability::ForbidTools`](crate::model::Capability::ForbidTools) gets it without them. If a method returns its
    /// value through a tool, only this tool is allowed. If the option is set for the call or for the conversation, it
    /// applies to the limits of both.
    pub const fn finish_without_tools(mut self) -> Self {
        self.finishes = true;
        self
    }

    /// Returns the limits of tokens and cost.
    pub(super) fn of_amounts(&self) -> Self {
        Self { tokens: self.tokens, cost: self.cost, ..Self::new() }
    }

    /// Returns `true` if tokens or cost are limited.
    pub(in crate::service) fn limits_amounts(&self) -> bool {
        self.tokens.is_some() || self.cost.is_some()
    }

    /// Returns the stricter limits of two budgets.
    pub(in crate::service) fn stricter(self, other: Self) -> Self {
        Self {
            model_calls: stricter(self.model_calls, other.model_calls),
            tool_rounds: stricter(self.tool_rounds, other.tool_rounds),
            tool_calls: stricter(self.tool_calls, other.tool_calls),
            tokens: stricter(self.tokens, other.tokens),
            cost: stricter(self.cost, other.cost),
            running_time: stricter(self.running_time, other.running_time),
            finishes: self.finishes || other.finishes,
        }
    }

    /// Returns the budget with the defaults of a call.
    pub(in crate::service) fn of_calls(mut self) -> Self {
        self.tool_rounds.get_or_insert(TOOL_ROUNDS);
        self
    }

    /// Checks the limits when a service is built.
    ///
    /// # Errors
    ///
    /// If a limit is zero, or if the cost is limited without prices.
    pub(in crate::service) fn check(&self, has_prices: bool) -> Result<()> {
        let counts = [self.model_calls, self.tool_rounds, self.tool_calls, self.tokens];
        let is_positive = |cost: f64| cost.is_finite() && cost > 0.0;
        if counts.contains(&Some(0))
            || self.running_time == Some(Duration::ZERO)
            || self.cost.is_some_and(|cost| !is_positive(cost))
        {
            return Err(Error::configuration("each limit of a `Budget` must be greater than zero"));
        }
        if self.cost.is_some() && !has_prices {
            return Err(Error::configuration(
                "a `Budget` limits the cost, but the service has no prices; call `.price_table(...)` before `.build()`",
            ));
        }
        Ok(())
    }

    /// Returns `true` if the model gives a last answer when a limit is reached.
    pub(super) fn finishes(&self) -> bool {
        self.finishes
    }

    /// Returns the limit that leaves nothing for another request.
    pub(super) fn used_up(&self, spent: &Spent) -> Option<BudgetLimit> {
        if self.model_calls.is_some_and(|max| spent.model_calls >= max) {
            return Some(BudgetLimit::ModelCalls);
        }
        self.used_up_by_work(spent)
    }

    /// Returns the limit that leaves nothing for the tools of an answer with this number of calls.
    pub(super) fn exceeded_by_tools(&self, spent: &Spent, calls: u64) -> Option<BudgetLimit> {
        if self.tool_rounds.is_some_and(|max| spent.tool_rounds >= max) {
            return Some(BudgetLimit::ToolRounds);
        }
        if self.tool_calls.is_some_and(|max| spent.tool_calls.saturating_add(calls) > max) {
            return Some(BudgetLimit::ToolCalls);
        }
        None
    }

    /// Returns the limit of an amount that models and tools spend that leaves nothing.
    pub(super) fn used_up_by_work(&self, spent: &Spent) -> Option<BudgetLimit> {
        if self.tokens.is_some_and(|max| spent.tokens() >= max) {
            return Some(BudgetLimit::Tokens);
        }
        if self.cost.is_some_and(|max| spent.cost.unwrap_or_default().amount() >= max) {
            return Some(BudgetLimit::Cost);
        }
        self.running_time
            .is_some_and(|max| spent.running_time >= max)
            .then_some(BudgetLimit::RunningTime)
    }

    /// Returns the limit and the spent amount as text.
    pub(super) fn describe(&self, limit: BudgetLimit, spent: &Spent) -> (String, String) {
        let count = |max: Option<u64>, unit: &str| format!("{} {unit}", max.unwrap_or_default());
        match limit {
            BudgetLimit::ModelCalls => {
                (count(self.model_calls, "model calls"), spent.model_calls.to_string())
            }
            BudgetLimit::ToolRounds => {
                (count(self.tool_rounds, "rounds of tool calls"), spent.tool_rounds.to_string())
            }
            BudgetLimit::ToolCalls => {
                (count(self.tool_calls, "tool calls"), spent.tool_calls.to_string())
            }
            BudgetLimit::Tokens => (count(self.tokens, "tokens"), spent.tokens().to_string()),
            BudgetLimit::Cost => {
                let max = self.cost.unwrap_or_default();
                (format!("{max} for model calls"), spent.cost.unwrap_or_default().to_string())
            }
            BudgetLimit::RunningTime => {
                let max = self.running_time.unwrap_or_default();
                (format!("{max:?} of running time"), format!("{:?}", spent.running_time))
            }
        }
    }
}

pub(super) fn stricter<T: PartialOrd>(a: Option<T>, b: Option<T>) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if b < a { b } else { a }),
        (a, b) => a.or(b),
    }
}
