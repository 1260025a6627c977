//! Building a service.

mod given;
mod parts;
mod stages;

pub use given::{ChatModelGiven, MemoryGiven, ModerationGiven};

use super::components::ConcurrentCalls;
use super::description::{Given, Missing, Service};
use super::form::OutputStrategy;
use super::handle::AiService;
use crate::error::Result;
use crate::event::Listener;
use crate::invocation::MemoryId;
use crate::memory::{ChatMemory, ChatMemoryProvider};
use crate::model::{ChatModel, ChatRequest, ChatRequestParameters, ModerationModel, PriceTable};
use crate::prompt::Clock;
use crate::tool::{ToolArgumentsPolicy, ToolErrorPolicy, ToolProvider, ToolSet, UnknownToolPolicy};
use parts::Parts;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

/// Builds a service. Made by `{Trait}Service::builder()`.
///
/// What the trait needs has to be given before [`build`](Self::build) compiles: always a
/// [`chat_model`](Self::chat_model), a [`chat_memory_provider`](Self::chat_memory_provider) if a
/// method has a `#[memory_id]`, a [`moderation_model`](Self::moderation_model) if a method is
/// `#[moderate]`. The last three type parameters say what was given.
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
///     .max_tool_rounds(5)
///     .build()?;
/// # let _ = assistant;
/// # Ok(())
/// # }
/// ```
#[must_use]
pub struct AiServiceBuilder<S, Model = Missing, Memory = Missing, Moderation = Missing> {
    parts: Parts,
    state: State<S, Model, Memory, Moderation>,
}

type State<S, Model, Memory, Moderation> = PhantomData<fn() -> (S, Model, Memory, Moderation)>;

impl<S: Service> AiServiceBuilder<S> {
    /// A builder without parts.
    pub fn new() -> Self {
        Self { parts: Parts::default(), state: PhantomData }
    }
}

impl<S: Service> Default for AiServiceBuilder<S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<S, Model, Memory, Moderation> AiServiceBuilder<S, Model, Memory, Moderation> {
    fn becoming<M, Y, O>(self) -> AiServiceBuilder<S, M, Y, O> {
        AiServiceBuilder { parts: self.parts, state: PhantomData }
    }

    /// Sets the model that answers.
    pub fn chat_model(
        mut self,
        model: impl ChatModel + 'static,
    ) -> AiServiceBuilder<S, Given, Memory, Moderation> {
        self.parts.model = Some(Arc::new(model));
        self.becoming()
    }

    /// Sets who gives each `#[memory_id]` its memory.
    ///
    /// A memory with a store is asked for anew for every call; one that lives in the process is asked
    /// for once and kept, until [`evict_chat_memory`](AiService::evict_chat_memory) or
    /// [`max_kept_memories`](Self::max_kept_memories) drops it.
    pub fn chat_memory_provider(
        mut self,
        provider: impl ChatMemoryProvider + 'static,
    ) -> AiServiceBuilder<S, Model, Given, Moderation> {
        self.parts.memory_provider = Some(Arc::new(provider));
        self.becoming()
    }

    /// Sets who judges the messages and the answers of `#[moderate]` methods.
    pub fn moderation_model(
        mut self,
        model: impl ModerationModel + 'static,
    ) -> AiServiceBuilder<S, Model, Memory, Given> {
        self.parts.moderation_model = Some(Arc::new(model));
        self.becoming()
    }

    /// Sets one memory that all methods without a `#[memory_id]` share.
    pub fn chat_memory(mut self, memory: impl ChatMemory + 'static) -> Self {
        self.parts.shared_memory = Some(Arc::new(memory));
        self
    }

    /// Keeps at most this many idle memories that live in the process, dropping, and so forgetting,
    /// the least recently used. Unlimited by default. Memories with a store do not count.
    pub fn max_kept_memories(mut self, max: usize) -> Self {
        self.parts.max_kept_memories = Some(max);
        self
    }

    /// Sets what happens to a call whose memory is in use: [`ConcurrentCalls::Queue`] by default.
    pub fn concurrent_calls(mut self, concurrent_calls: ConcurrentCalls) -> Self {
        self.parts.concurrent_calls = concurrent_calls;
        self
    }

    /// Sets parameters for all requests. Those of a call win over them.
    pub fn parameters(mut self, parameters: ChatRequestParameters) -> Self {
        self.parts.parameters = parameters;
        self
    }

    /// Sets where methods that declare no system message get theirs. The text is sent as it is.
    pub fn system_message_provider(
        mut self,
        provider: impl Fn(Option<&MemoryId>) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.parts.system_message_provider = Some(Arc::new(provider));
        self
    }

    /// Sets a last change of every request, those between tools included. What it adds is sent, not
    /// remembered.
    pub fn chat_request_transformer(
        mut self,
        transformer: impl Fn(ChatRequest) -> ChatRequest + Send + Sync + 'static,
    ) -> Self {
        self.parts.chat_request_transformer = Some(Arc::new(transformer));
        self
    }

    /// Sets the clock of `{{current_date}}` and its like; the system's by default.
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.parts.clock = Some(Arc::new(clock));
        self
    }

    /// Adds tools. May be called several times; names must be unique.
    pub fn tools(mut self, tools: impl ToolSet) -> Self {
        self.parts.tools.extend(Arc::new(tools).tools());
        self
    }

    /// Adds somebody who chooses tools for each call.
    pub fn tool_provider(mut self, provider: impl ToolProvider + 'static) -> Self {
        self.parts.tool_providers.push(Arc::new(provider));
        self
    }

    /// Sets how many answers with tool calls a turn may have: 32 by default.
    pub fn max_tool_rounds(mut self, rounds: usize) -> Self {
        self.parts.limits.tool_rounds = rounds;
        self
    }

    /// Sets how many tools one answer may call: 128 by default.
    pub fn max_tool_calls_per_answer(mut self, calls: usize) -> Self {
        self.parts.limits.calls_per_answer = calls;
        self
    }

    /// Sets how many bytes the arguments of one tool call may have: 1 MiB by default.
    pub fn max_tool_argument_bytes(mut self, bytes: usize) -> Self {
        self.parts.limits.argument_bytes = bytes;
        self
    }

    /// Sets how many bytes the result of one tool may have: 256 KiB by default.
    pub fn max_tool_result_bytes(mut self, bytes: usize) -> Self {
        self.parts.tool_settings.max_result_bytes = bytes;
        self
    }

    /// Sets how many tools of one answer run beside each other: 8 by default.
    pub fn tool_concurrency(mut self, tools: usize) -> Self {
        self.parts.tool_settings.concurrency = tools;
        self
    }

    /// Sets how long a tool may run unless it has a limit of its own: 60 seconds by default.
    pub fn tool_timeout(mut self, timeout: Duration) -> Self {
        self.parts.tool_settings.timeout = timeout;
        self
    }

    /// Sets what happens when the model calls a tool that does not exist.
    #[doc(alias = "hallucinatedToolNameStrategy")]
    pub fn unknown_tool_policy(mut self, policy: UnknownToolPolicy) -> Self {
        self.parts.tool_settings.policies.unknown = policy;
        self
    }

    /// Sets what happens when the model's arguments are not what the tool takes.
    pub fn tool_arguments_policy(mut self, policy: ToolArgumentsPolicy) -> Self {
        self.parts.tool_settings.policies.arguments = policy;
        self
    }

    /// Sets what happens when a tool fails.
    pub fn tool_error_policy(mut self, policy: ToolErrorPolicy) -> Self {
        self.parts.tool_settings.policies.error = policy;
        self
    }

    /// Sets how the model is made to answer with JSON where a method returns more than text: the best
    /// way that the model can by default.
    pub fn output_strategy(mut self, strategy: OutputStrategy) -> Self {
        self.parts.output_strategy = strategy;
        self
    }

    /// Sets how often a model whose answer is not a value of the method's type is told so and asked
    /// again: once by default. What was wrong is not remembered, what it cost is counted.
    pub fn output_retries(mut self, retries: usize) -> Self {
        self.parts.output_retries = Some(retries);
        self
    }

    /// Sets what models cost, so that each [`Response`](crate::Response) says what it cost, and each
    /// error what was spent in vain, as its [`IncurredCost`](crate::model::IncurredCost).
    pub fn price_table(mut self, prices: impl Into<Arc<PriceTable>>) -> Self {
        self.parts.price_table = Some(prices.into());
        self
    }

    /// Adds somebody who is told what happens.
    pub fn listener(mut self, listener: impl Listener + 'static) -> Self {
        self.parts.listeners.push(Arc::new(listener));
        self
    }

    /// The service.
    ///
    /// # Errors
    ///
    /// What only shows when the parts come together: two tools with one name, an invalid tool name,
    /// a concurrency of zero, an output strategy that the model is not capable of.
    pub fn build(self) -> Result<S>
    where
        S: Service,
        Model: ChatModelGiven,
        Memory: MemoryGiven<S::Memory>,
        Moderation: ModerationGiven<S::Moderation>,
    {
        self.parts
            .build(S::NAME, S::METHODS, &S::GUARDRAILS)
            .map(|components| S::from_ai_service(AiService::new(components)))
    }
}

impl<S, Model, Memory, Moderation> fmt::Debug for AiServiceBuilder<S, Model, Memory, Moderation> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AiServiceBuilder")
            .field("tools", &self.parts.tools)
            .field("limits", &self.parts.limits)
            .finish_non_exhaustive()
    }
}
