//! What a service is built from.

use crate::error::{Error, Result};
use crate::event::Listener;
use crate::memory::{ChatMemory, ChatMemoryProvider};
use crate::model::{ChatModel, ChatRequestParameters, ModerationModel, PriceTable};
use crate::prompt::{Clock, SystemClock};
use crate::rag::RetrievalAugmentor;
use crate::service::components::{
    Components, ConcurrentCalls, Memories, Plans, RequestTransformer, SharedMemory,
    SystemMessageProvider, ToolSettings,
};
use crate::service::conversations::Conversations;
use crate::service::description::{DeclaredGuardrails, Method};
use crate::service::form::{AnswerForm, Means, OutputStrategy};
use crate::service::guards::Guards;
use crate::service::opening::Remembered;
use crate::service::turn::Limits;
use crate::tool::{Tool, ToolProvider, Toolbox};
use std::sync::Arc;

/// What was given so far.
#[derive(Default)]
pub(super) struct Parts {
    pub(super) model: Option<Arc<dyn ChatModel>>,
    pub(super) moderation_model: Option<Arc<dyn ModerationModel>>,
    pub(super) augmentor: Option<Arc<dyn RetrievalAugmentor>>,
    pub(super) remembered: Remembered,
    pub(super) guards: Guards,
    pub(super) shared_memory: Option<Arc<dyn ChatMemory>>,
    pub(super) memory_provider: Option<Arc<dyn ChatMemoryProvider>>,
    pub(super) max_kept_memories: Option<usize>,
    pub(super) concurrent_calls: ConcurrentCalls,
    pub(super) parameters: ChatRequestParameters,
    pub(super) system_message_provider: Option<Arc<SystemMessageProvider>>,
    pub(super) chat_request_transformer: Option<Arc<RequestTransformer>>,
    pub(super) clock: Option<Arc<dyn Clock>>,
    pub(super) tools: Vec<Tool>,
    pub(super) tool_providers: Vec<Arc<dyn ToolProvider>>,
    pub(super) tool_settings: ToolSettings,
    pub(super) limits: Limits,
    pub(super) output_strategy: OutputStrategy,
    pub(super) output_retries: Option<usize>,
    pub(super) price_table: Option<Arc<PriceTable>>,
    pub(super) listeners: Vec<Arc<dyn Listener>>,
}

impl Parts {
    /// The components of a service.
    pub(super) fn build(
        self,
        name: &'static str,
        methods: &[&'static Method],
        declared: &DeclaredGuardrails,
    ) -> Result<Components> {
        let model = self.model.ok_or_else(|| Error::configuration("there is no chat model"))?;
        if self.tool_settings.concurrency == 0 {
            return Err(Error::configuration("`tool_concurrency` must be at least 1"));
        }
        let toolbox = Toolbox::new(self.tools)?;
        let means = Means {
            model: &*model,
            strategy: self.output_strategy,
            parameters: &Arc::new(self.parameters),
            toolbox: &toolbox,
            has_tool_providers: !self.tool_providers.is_empty(),
        };
        let guards = self.guards.and(declared);
        let plans = Plans::new(
            methods,
            |method| AnswerForm::new((method.shape)(), &means),
            |method| guards.and(&method.guardrails),
        )?;
        Ok(Components {
            name,
            model,
            moderation_model: self.moderation_model,
            augmentor: self.augmentor,
            remembered: self.remembered,
            system_message_provider: self.system_message_provider,
            chat_request_transformer: self.chat_request_transformer,
            clock: self.clock.unwrap_or_else(|| Arc::new(SystemClock)),
            plans,
            memory: Memories {
                shared: self.shared_memory.map(SharedMemory::new),
                provider: self.memory_provider,
                conversations: Conversations::new(self.max_kept_memories),
                concurrent_calls: self.concurrent_calls,
            },
            toolbox,
            tool_providers: self.tool_providers,
            tool_settings: self.tool_settings,
            limits: self.limits,
            output_retries: self.output_retries.unwrap_or(1),
            price_table: self.price_table,
            listeners: self.listeners,
        })
    }
}
