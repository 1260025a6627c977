//! What a service is made of.

use super::conversations::{Conversations, Slot};
use super::description::Method;
use super::form::AnswerForm;
use super::guards::Guards;
use super::opening::Remembered;
use super::turn::Limits;
use crate::error::{Error, Result};
use crate::event::Listener;
use crate::invocation::MemoryId;
use crate::memory::{ChatMemory, ChatMemoryProvider};
use crate::message::SystemMessage;
use crate::model::{ChatModel, ChatRequest, ModerationModel, PriceTable};
use crate::prompt::Clock;
use crate::rag::RetrievalAugmentor;
use crate::tool::{ToolPolicies, ToolProvider, Toolbox};
use std::sync::Arc;
use std::time::Duration;

/// What happens when a second call arrives for a memory id that is in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConcurrentCalls {
    /// It waits for its turn; calls of one id run in the order in which they came.
    #[default]
    Queue,
    /// It fails with [`ErrorKind::Busy`](crate::ErrorKind::Busy).
    Reject,
}

pub(super) type SystemMessageProvider = dyn Fn(Option<&MemoryId>) -> Option<String> + Send + Sync;
pub(super) type RequestTransformer = dyn Fn(ChatRequest) -> ChatRequest + Send + Sync;

/// Everything that a service works with. Never changes once built.
pub(super) struct Components {
    pub(super) name: &'static str,
    pub(super) model: Arc<dyn ChatModel>,
    pub(super) moderation_model: Option<Arc<dyn ModerationModel>>,
    pub(super) augmentor: Option<Arc<dyn RetrievalAugmentor>>,
    pub(super) remembered: Remembered,
    pub(super) system_message_provider: Option<Arc<SystemMessageProvider>>,
    pub(super) chat_request_transformer: Option<Arc<RequestTransformer>>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) plans: Plans,
    pub(super) memory: Memories,
    pub(super) toolbox: Toolbox,
    pub(super) tool_providers: Vec<Arc<dyn ToolProvider>>,
    pub(super) tool_settings: ToolSettings,
    pub(super) limits: Limits,
    pub(super) output_retries: usize,
    pub(super) price_table: Option<Arc<PriceTable>>,
    pub(super) listeners: Vec<Arc<dyn Listener>>,
}

/// What is known of the methods before they are called.
pub(super) struct Plans(Vec<(&'static Method, MethodPlan)>);

/// What is the same in every call of a method.
pub(super) struct MethodPlan {
    /// The system message, if nothing in it changes: it is encoded only once.
    pub(super) system: Option<SystemMessage>,
    pub(super) form: AnswerForm,
    pub(super) guards: Guards,
}

impl Plans {
    /// Plans the methods; `form` says how an answer is asked for, `guards` who checks it.
    pub(super) fn new(
        methods: &[&'static Method],
        form: impl Fn(&Method) -> Result<AnswerForm>,
        guards: impl Fn(&Method) -> Guards,
    ) -> Result<Self> {
        let plan = |method: &&'static Method| {
            let system =
                method.system.and_then(|template| template.fixed()).map(SystemMessage::new);
            Ok((*method, MethodPlan { system, form: form(method)?, guards: guards(method) }))
        };
        methods.iter().map(plan).collect::<Result<_>>().map(Self)
    }

    pub(super) fn of(&self, method: &'static Method) -> Option<&MethodPlan> {
        let (_, plan) = self.0.iter().find(|(known, _)| std::ptr::eq(*known, method))?;
        Some(plan)
    }
}

/// Where memories come from.
pub(super) struct Memories {
    /// For methods without `#[memory_id]`.
    pub(super) shared: Option<SharedMemory>,
    /// For methods with one.
    pub(super) provider: Option<Arc<dyn ChatMemoryProvider>>,
    pub(super) conversations: Conversations,
    pub(super) concurrent_calls: ConcurrentCalls,
}

/// One memory for many callers.
pub(super) struct SharedMemory {
    pub(super) memory: Arc<dyn ChatMemory>,
    /// The queue of its callers.
    pub(super) slot: Arc<Slot>,
}

impl SharedMemory {
    pub(super) fn new(memory: Arc<dyn ChatMemory>) -> Self {
        let slot = Arc::new(Slot::new(Some(Arc::clone(&memory))));
        Self { memory, slot }
    }
}

impl Memories {
    /// The memory of `id`, which must say that it is.
    pub(super) fn provide(&self, id: &MemoryId) -> Result<Arc<dyn ChatMemory>> {
        let provider = self.provider.as_ref().ok_or_else(|| {
            Error::configuration("the service has no chat memory provider; call `.chat_memory_provider(...)` before `.build()`")
        })?;
        let memory = provider.chat_memory(id)?;
        match memory.id() == id {
            true => Ok(memory),
            false => Err(Error::configuration(format!(
                "the chat memory provider was asked for id `{id}` and returned the memory of id `{}`; pass the id on, for example with `.id(id)`",
                memory.id()
            ))),
        }
    }
}

/// How tools are run.
#[derive(Clone, Copy, Debug)]
pub(super) struct ToolSettings {
    pub(super) policies: ToolPolicies,
    pub(super) concurrency: usize,
    pub(super) timeout: Duration,
    pub(super) max_result_bytes: usize,
}

impl Default for ToolSettings {
    fn default() -> Self {
        Self {
            policies: ToolPolicies::default(),
            concurrency: 8,
            timeout: Duration::from_secs(60),
            max_result_bytes: 256 * 1024,
        }
    }
}
