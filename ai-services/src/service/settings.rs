//! The settings of a service.

use super::approval_settings::ApprovalSettings;
use super::budget::Budget;
use super::conversations::ConcurrentCalls;
use super::durable_turns::DurableTurns;
use super::listeners::Listener;
use super::output_plan::OutputStrategy;
use super::remembered::Remembered;
use super::turn::ToolCallLimits;
use crate::memory::MemoryId;
use crate::model::{ChatRequest, ChatRequestParameters, ModerationModel, PriceTable};
use crate::prompt::{Clock, SystemClock};
use crate::rag::RetrievalAugmentor;
use crate::tool::{ToolProvider, ToolSettings};
use std::sync::Arc;

pub(super) type SystemMessageProvider = dyn Fn(Option<&MemoryId>) -> Option<String> + Send + Sync;
pub(super) type RequestTransformer = dyn Fn(ChatRequest) -> ChatRequest + Send + Sync;

/// The settings that a builder collects and a service uses unchanged.
pub(super) struct ServiceSettings {
    pub(super) clock: Arc<dyn Clock>,
    pub(super) system_message_provider: Option<Arc<SystemMessageProvider>>,
    pub(super) augmentor: Option<Arc<dyn RetrievalAugmentor>>,
    pub(super) moderation_model: Option<Arc<dyn ModerationModel>>,
    pub(super) concurrent_calls: ConcurrentCalls,
    pub(super) remembered: Remembered,
    /// Parameters of all requests.
    pub(super) parameters: Arc<ChatRequestParameters>,
    pub(super) chat_request_transformer: Option<Arc<RequestTransformer>>,
    pub(super) tool_providers: Vec<Arc<dyn ToolProvider>>,
    pub(super) tools: ToolSettings,
    pub(super) limits: ToolCallLimits,
    /// The budget of each call.
    pub(super) budget: Budget,
    pub(super) conversation_budget: Option<Budget>,
    pub(super) output_strategy: OutputStrategy,
    /// Largest number of retries because of answers that cannot be parsed.
    pub(super) output_retries: usize,
    pub(super) price_table: Option<Arc<PriceTable>>,
    pub(super) approval: ApprovalSettings,
    /// Largest number of services that are nested as tools, up to this one.
    pub(super) max_nesting: usize,
    /// `None` if turns are not resumed.
    pub(super) durable_turns: Option<DurableTurns>,
    pub(super) listeners: Vec<Listener>,
}

impl Default for ServiceSettings {
    fn default() -> Self {
        Self {
            clock: Arc::new(SystemClock),
            system_message_provider: None,
            augmentor: None,
            moderation_model: None,
            concurrent_calls: ConcurrentCalls::default(),
            remembered: Remembered::default(),
            parameters: Arc::default(),
            chat_request_transformer: None,
            tool_providers: Vec::new(),
            tools: ToolSettings::default(),
            limits: ToolCallLimits::default(),
            budget: Budget::new(),
            conversation_budget: None,
            output_strategy: OutputStrategy::default(),
            output_retries: 1,
            price_table: None,
            approval: ApprovalSettings::default(),
            max_nesting: 8,
            durable_turns: None,
            listeners: Vec::new(),
        }
    }
}
