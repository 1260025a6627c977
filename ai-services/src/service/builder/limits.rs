//! The builder of services: budgets and other limits.

use super::service_builder::AiServiceBuilder;
use crate::service::budget::Budget;

impl<S, Model, Memory, Moderation> AiServiceBuilder<S, Model, Memory, Moderation> {
    /// Sets the budget of each call. Default: [`Budget::new`], which allows 32 rounds of tool calls.
    ///
    /// The limits in `#[budget(…)]` of a method apply, too: the stricter one counts.
    pub fn budget(mut self, budget: Budget) -> Self {
        self.parts.settings.budget = budget;
        self
    }

    /// Sets the budget of each conversation: of the sum over its stored turns and the current one. Default: unlimited.
    ///
    /// The sum is stored with each turn, as an attribute of its user message, and restarts when the conversation is
    /// deleted. Turns that were stored without a conversation budget, and failed calls, do not count. A call without a
    /// memory counts alone. See [Conversations](crate::docs::budgets#conversations).
    ///
    /// # Examples
    ///
    /// ```
    /// use ai_services::memory::MessageWindowChatMemory;
    /// use ai_services::testing::ScriptedChatModel;
    /// use ai_services::{Budget, BudgetExceeded, BudgetScope, ai_service};
    ///
    /// #[ai_service]
    /// trait Assistant {
    ///     async fn chat(
    ///         &self,
    ///         #[memory_id] user: &str,
    ///         #[user_message] text: &str,
    ///     ) -> ai_services::Result<String>;
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> ai_services::Result<()> {
    /// let assistant = AssistantService::builder()
    ///     .chat_model(ScriptedChatModel::replies(["Hi.", "Hi again."]))
    ///     .chat_memory_provider(|user| {
    ///         MessageWindowChatMemory::builder().id(user).max_messages(20).build()
    ///     })
    ///     .conversation_budget(Budget::new().model_calls(1))
    ///     .build()?;
    ///
    /// assistant.chat("ann", "Hello!").await?;
    /// let error = assistant.chat("ann", "Hello?").await.unwrap_err();
    /// let scope = error.detail().map(|exceeded: &BudgetExceeded| exceeded.scope);
    /// assert_eq!(scope, Some(BudgetScope::Conversation));
    /// assistant.chat("bob", "Hello!").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn conversation_budget(mut self, budget: Budget) -> Self {
        self.parts.settings.conversation_budget = Some(budget);
        self
    }

    /// Sets the largest number of tool calls in one response. Default: 128.
    pub fn max_tool_calls_per_answer(mut self, calls: usize) -> Self {
        self.parts.settings.limits.calls_per_answer = calls;
        self
    }

    /// Sets the largest size of the arguments of one tool call, in bytes. Default: 1 MiB.
    pub fn max_tool_argument_bytes(mut self, bytes: usize) -> Self {
        self.parts.settings.limits.argument_bytes = bytes;
        self
    }

    /// Sets the largest size of one tool result, in bytes. Default: 256 KiB.
    pub fn max_tool_result_bytes(mut self, bytes: usize) -> Self {
        self.parts.settings.tools.max_result_bytes = bytes;
        self
    }

    /// Sets the largest number of services that are nested as [tools](macro@crate::tools#services-as-tools) of each
    /// other when a method of this service is called as a tool, this service included. Default: 8.
    ///
    /// A service is built before the services that use its tools, so that a cycle can only come about through a
    /// [`ToolProvider`](crate::tool::ToolProvider) or a handwritten tool. The limit ends such a cycle: a deeper call
    /// fails with [`ErrorKind::Tool`](crate::ErrorKind::Tool). The error names the services.
    pub fn max_nesting(mut self, services: usize) -> Self {
        self.parts.settings.max_nesting = services;
        self
    }
}
