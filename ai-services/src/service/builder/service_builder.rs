//! The builder of services: models, memories, tools and settings.

use super::parts::BuilderParts;
use super::requirements::{ChatModelGiven, MemoryGiven, ModerationGiven};
use crate::approval::{Approval, ApprovalHandler};
use crate::event::{Call, Event};
use crate::memory::{ChatMemory, IntoChatMemory, MemoryId};
use crate::message::ToolCall;
use crate::model::{ChatModel, ChatRequest, ChatRequestParameters, ModerationModel, PriceTable};
use crate::prompt::Clock;
use crate::service::conversations::ConcurrentCalls;
use crate::service::description::{Given, Missing};
use crate::service::durable_turns::DurableTurns;
use crate::service::handle::{AiService, Service};
use crate::service::listeners::Listener;
use crate::service::output_plan::OutputStrategy;
use crate::tool::{ToolArgumentsPolicy, ToolErrorPolicy, ToolProvider, ToolSet, UnknownToolPolicy};
use crate::{InvocationContext, Result};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

/// Builds a service. Returned by `{Trait}Service::builder()`.
///
/// [`build`](Self::build) compiles only if all required components are set:
///
/// - always a [`chat_model`](Self::chat_model),
/// - a [`chat_memory_provider`](Self::chat_memory_provider) if a method has a `#[memory_id]`,
/// - a [`moderation_model`](Self::moderation_model) if a method is `#[moderate]`.
///
/// The last three type parameters record which of them are set.
///
/// # Examples
///
/// ```
/// use ai_services::ai_service;
/// use ai_services::testing::ScriptedChatModel;
///
/// #[ai_service]
/// trait Assistant {
///     async fn chat(&self, message: &str) -> ai_services::Result<String>;
/// }
///
/// # fn main() -> ai_services::Result<()> {
/// let assistant = AssistantService::builder()
///     .chat_model(ScriptedChatModel::replies(["Hi."]))
///     .output_retries(2)
///     .build()?;
/// # let _ = assistant;
/// # Ok(())
/// # }
/// ```
#[must_use]
pub struct AiServiceBuilder<S, Model = Missing, Memory = Missing, Moderation = Missing> {
    model: Model,
    pub(super) parts: BuilderParts,
    state: BuilderState<S, Memory, Moderation>,
}

type BuilderState<S, Memory, Moderation> = PhantomData<fn() -> (S, Memory, Moderation)>;

impl<S: Service> AiServiceBuilder<S> {
    /// Creates a builder without components.
    pub fn new() -> Self {
        Self { model: Missing, parts: BuilderParts::default(), state: PhantomData }
    }
}

impl<S: Service> Default for AiServiceBuilder<S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<S, Model, Memory, Moderation> AiServiceBuilder<S, Model, Memory, Moderation> {
    /// Sets the chat model.
    pub fn chat_model(
        self,
        model: impl ChatModel + 'static,
    ) -> AiServiceBuilder<S, Arc<dyn ChatModel>, Memory, Moderation> {
        AiServiceBuilder { model: Arc::new(model), parts: self.parts, state: PhantomData }
    }

    /// Sets the provider of the memory for each `#[memory_id]`: a function that returns a memory, or
    /// the `Result` of building one.
    ///
    /// A memory with a store is created for every call. A memory without a store is created once and
    /// kept until [`evict_chat_memory`](AiService::evict_chat_memory) or
    /// [`max_kept_memories`](Self::max_kept_memories) drops it.
    ///
    /// The memory must have the id that the provider receives. Otherwise the call fails with
    /// [`ErrorKind::Configuration`](crate::ErrorKind::Configuration), because the memory of another id
    /// would show one user the messages of another one.
    ///
    /// # Examples
    ///
    /// ```
    /// use ai_services::ai_service;
    /// use ai_services::memory::MessageWindowChatMemory;
    /// use ai_services::testing::ScriptedChatModel;
    ///
    /// #[ai_service]
    /// trait Assistant {
    ///     async fn chat(&self, #[memory_id] user: &str, #[user_message] text: &str)
    ///         -> ai_services::Result<String>;
    /// }
    ///
    /// # fn main() -> ai_services::Result<()> {
    /// let assistant = AssistantService::builder()
    ///     .chat_model(ScriptedChatModel::replies(["Hi."]))
    ///     .chat_memory_provider(|id| {
    ///         MessageWindowChatMemory::builder().id(id).max_messages(20).build()
    ///     })
    ///     .build()?;
    /// # let _ = assistant;
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "ChatMemoryProvider")]
    pub fn chat_memory_provider<M: IntoChatMemory>(
        mut self,
        provider: impl Fn(&MemoryId) -> M + Send + Sync + 'static,
    ) -> AiServiceBuilder<S, Model, Given, Moderation> {
        let provider = move |id: &MemoryId| provider(id).into_chat_memory();
        self.parts.memories.provider = Some(Box::new(provider));
        AiServiceBuilder { model: self.model, parts: self.parts, state: PhantomData }
    }

    /// Sets the model that checks the messages and answers of `#[moderate]` methods.
    pub fn moderation_model(
        mut self,
        model: impl ModerationModel + 'static,
    ) -> AiServiceBuilder<S, Model, Memory, Given> {
        self.parts.settings.moderation_model = Some(Arc::new(model));
        AiServiceBuilder { model: self.model, parts: self.parts, state: PhantomData }
    }

    /// Sets the memory that all methods without a `#[memory_id]` share.
    pub fn chat_memory(mut self, memory: impl ChatMemory + 'static) -> Self {
        self.parts.memories.shared = Some(Arc::new(memory));
        self
    }

    /// Sets the largest number of idle memories without a store. Default: unlimited.
    ///
    /// The least recently used memory is dropped first, and its conversation is lost. Memories with a
    /// store do not count.
    pub fn max_kept_memories(mut self, max: usize) -> Self {
        self.parts.memories.max_kept = Some(max);
        self
    }

    /// Sets the policy for a call whose memory is in use. Default: [`ConcurrentCalls::Queue`].
    pub fn concurrent_calls(mut self, concurrent_calls: ConcurrentCalls) -> Self {
        self.parts.settings.concurrent_calls = concurrent_calls;
        self
    }

    /// Makes turns durable: a turn that was interrupted after it called tools is resumed. Default: such a turn is
    /// lost, like every turn that fails.
    ///
    /// The stores of the memories must have [journals](crate::memory::ChatMemoryStore::journals). Otherwise, calls
    /// of methods with tools fail with [`ErrorKind::Configuration`](crate::ErrorKind::Configuration).
    pub fn durable_turns(mut self, durable_turns: DurableTurns) -> Self {
        self.parts.settings.durable_turns = Some(durable_turns);
        self
    }

    /// Sets the policy that decides which tool calls need [approval](crate::approval). Default:
    /// [`Approval::AsDeclared`] for each call.
    ///
    /// The policy is called for each call of an answer before a tool of this answer runs, and again when the turn is
    /// resumed.
    pub fn approval_policy(
        mut self,
        policy: impl Fn(&ToolCall, &InvocationContext) -> Approval + Send + Sync + 'static,
    ) -> Self {
        self.parts.settings.approval.policy = Some(Box::new(policy));
        self
    }

    /// Sets the handler that decides about tool calls that need [approval](crate::approval), while the call waits.
    /// Default: the turn is suspended, which requires [`durable_turns`](Self::durable_turns).
    pub fn approval_handler(mut self, handler: impl ApprovalHandler + 'static) -> Self {
        self.parts.settings.approval.handler = Some(Arc::new(handler));
        self
    }

    /// Sets the parameters of all requests. The parameters of a call take precedence.
    pub fn parameters(mut self, parameters: ChatRequestParameters) -> Self {
        self.parts.settings.parameters = Arc::new(parameters);
        self
    }

    /// Sets the provider of the system message for methods that declare none. The text is not a
    /// template.
    pub fn system_message_provider(
        mut self,
        provider: impl Fn(Option<&MemoryId>) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.parts.settings.system_message_provider = Some(Arc::new(provider));
        self
    }

    /// Sets a function that changes every request before it is sent, including the requests after
    /// tool calls. The changes are not remembered.
    pub fn chat_request_transformer(
        mut self,
        transformer: impl Fn(ChatRequest) -> ChatRequest + Send + Sync + 'static,
    ) -> Self {
        self.parts.settings.chat_request_transformer = Some(Arc::new(transformer));
        self
    }

    /// Sets the clock of `{{current_date}}`, `{{current_time}}` and `{{current_date_time}}`. Default:
    /// the system clock.
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.parts.settings.clock = Arc::new(clock);
        self
    }

    /// Adds tools. May be called several times. Tool names must be unique. All methods use all tools, except those
    /// [with `#[tools]`](macro@crate::ai_service#tools-and-retrieval-of-a-method).
    pub fn tools(mut self, tools: impl ToolSet) -> Self {
        self.parts.tools.extend(Arc::new(tools).tools());
        self
    }

    /// Adds a provider that chooses additional tools for each call.
    pub fn tool_provider(mut self, provider: impl ToolProvider + 'static) -> Self {
        self.parts.settings.tool_providers.push(Arc::new(provider));
        self
    }

    /// Sets the largest number of tools of one response that run concurrently. Default: 8.
    pub fn tool_concurrency(mut self, tools: usize) -> Self {
        self.parts.settings.tools.concurrency = tools;
        self
    }

    /// Sets the time limit of tools that have no limit of their own. Default: 60 seconds.
    ///
    /// A tool that is not `async` cannot be stopped, so the limit does not apply to it.
    pub fn tool_timeout(mut self, timeout: Duration) -> Self {
        self.parts.settings.tools.timeout = timeout;
        self
    }

    /// Sets the policy for calls of a tool that does not exist.
    #[doc(alias = "hallucinatedToolNameStrategy")]
    pub fn unknown_tool_policy(mut self, policy: UnknownToolPolicy) -> Self {
        self.parts.settings.tools.unknown_tool = policy;
        self
    }

    /// Sets the policy for arguments that do not match the parameters of the tool.
    pub fn tool_arguments_policy(mut self, policy: ToolArgumentsPolicy) -> Self {
        self.parts.settings.tools.arguments = policy;
        self
    }

    /// Sets the policy for tools that fail.
    pub fn tool_error_policy(mut self, policy: ToolErrorPolicy) -> Self {
        self.parts.settings.tools.error = policy;
        self
    }

    /// Sets the mechanism by which the model returns JSON, for methods that return more than text.
    /// Default: [`OutputStrategy::Auto`].
    pub fn output_strategy(mut self, strategy: OutputStrategy) -> Self {
        self.parts.settings.output_strategy = strategy;
        self
    }

    /// Sets the largest number of retries for an answer that is not a value of the method's type.
    /// Default: 1.
    ///
    /// The model gets the error and answers again. Rejected answers are not remembered, but their
    /// usage counts.
    pub fn output_retries(mut self, retries: usize) -> Self {
        self.parts.settings.output_retries = retries;
        self
    }

    /// Sets the prices of models.
    ///
    /// With prices, each [`Response`](crate::Response) contains its cost. Each error contains the cost
    /// of the failed turn as a detail of type [`IncurredCost`](crate::model::IncurredCost).
    pub fn price_table(mut self, prices: impl Into<Arc<PriceTable>>) -> Self {
        self.parts.settings.price_table = Some(prices.into());
        self
    }

    /// Adds a listener for the events of every call.
    ///
    /// A listener runs on the task of the call and should return quickly. A panic in a listener is
    /// caught and does not affect the call; the first one of each listener is logged with `tracing`.
    ///
    /// # Examples
    ///
    /// ```
    /// use ai_services::ai_service;
    /// use ai_services::event::Event;
    /// use ai_services::testing::ScriptedChatModel;
    ///
    /// #[ai_service]
    /// trait Assistant {
    ///     async fn chat(&self, message: &str) -> ai_services::Result<String>;
    /// }
    ///
    /// # fn main() -> ai_services::Result<()> {
    /// let assistant = AssistantService::builder()
    ///     .chat_model(ScriptedChatModel::replies(["Hi."]))
    ///     .listener(|call, event| {
    ///         if let Event::Completed { usage, .. } = event {
    ///             println!("{}: {:?} output tokens", call.method, usage.output);
    ///         }
    ///     })
    ///     .build()?;
    /// # let _ = assistant;
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "AiServiceListener")]
    pub fn listener(
        mut self,
        listener: impl Fn(&Call<'_>, &Event<'_>) + Send + Sync + 'static,
    ) -> Self {
        self.parts.settings.listeners.push(Listener::new(listener));
        self
    }

    /// Builds the service.
    ///
    /// # Errors
    ///
    /// Fails if the configuration is inconsistent: two tools share a name, a tool name is invalid, the
    /// tool concurrency or a limit of a budget is zero, a budget limits the cost without prices, or the model does
    /// not support the output strategy.
    pub fn build(self) -> Result<S>
    where
        S: Service,
        Model: ChatModelGiven,
        Memory: MemoryGiven<S::Memory>,
        Moderation: ModerationGiven<S::Moderation>,
    {
        self.parts
            .build(self.model.into_model(), S::NAME, S::METHODS, &S::GUARDRAILS)
            .map(|components| S::from_ai_service(AiService::new(components)))
    }
}

impl<S, Model, Memory, Moderation> fmt::Debug for AiServiceBuilder<S, Model, Memory, Moderation> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AiServiceBuilder")
            .field("tools", &self.parts.tools)
            .field("limits", &self.parts.settings.limits)
            .finish_non_exhaustive()
    }
}
