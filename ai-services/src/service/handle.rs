//! The handle of a service.

use super::components::Components;
use super::description::{DeclaredGuardrails, Method};
use crate::Result;
use crate::memory::{ChatMemory, ToMemoryId};
use std::fmt;
use std::sync::Arc;

/// A generated service, as its builder sees it.
///
/// Implemented by `#[ai_service]`. Not for manual implementation.
pub trait Service: Sized {
    /// [`Required`](super::Required) if a method has a `#[memory_id]`.
    type Memory;
    /// [`Required`](super::Required) if a method is `#[moderate]`.
    type Moderation;
    /// The name of the trait.
    const NAME: &'static str;
    /// The methods that the macro implements.
    const METHODS: &'static [&'static Method];
    /// The guardrails of all methods.
    const GUARDRAILS: DeclaredGuardrails = DeclaredGuardrails::NONE;

    #[doc(hidden)]
    fn from_ai_service(service: AiService) -> Self;
}

/// The engine of a generated service. Every `{Trait}Service` dereferences to it.
///
/// Cheap to clone. Clones share models, tools, queues and memories.
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
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> ai_services::Result<()> {
/// let assistant = AssistantService::builder()
///     .chat_model(ScriptedChatModel::replies(["Hello, Ann."]))
///     .chat_memory_provider(|id| {
///         MessageWindowChatMemory::builder().id(id).max_messages(20).build()
///     })
///     .build()?;
/// assistant.chat("ann", "I am Ann.").await?;
///
/// let memory = assistant.chat_memory("ann")?;
/// assert_eq!(memory.messages().await?.len(), 2);
/// memory.clear().await?;
/// assert!(assistant.evict_chat_memory("ann"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct AiService(Arc<Components>);

impl AiService {
    pub(super) fn new(components: Components) -> Self {
        Self(Arc::new(components))
    }

    pub(super) fn components(&self) -> &Arc<Components> {
        &self.0
    }

    /// Returns the memory of an id, to read, change or clear it.
    ///
    /// If the memory changes during a call, the call starts over. After tools have run, it fails with
    /// [`ErrorKind::Conflict`](crate::ErrorKind::Conflict) instead.
    ///
    /// # Errors
    ///
    /// If the service has no chat memory provider, or if the provider fails.
    pub fn chat_memory<I: ToMemoryId + ?Sized>(&self, id: &I) -> Result<Arc<dyn ChatMemory>> {
        let id = id.to_memory_id();
        let memories = &self.0.memories;
        memories.conversations.memory(&id, || memories.provide(&id))
    }

    /// Drops the memory of an id that lives in the service. Returns `true` if there was one.
    ///
    /// A memory with a store does not live in the service: this method has no effect on it, and the
    /// stored conversation remains. Use [`clear`](ChatMemory::clear) to delete a stored conversation.
    pub fn evict_chat_memory<I: ToMemoryId + ?Sized>(&self, id: &I) -> bool {
        self.0.memories.conversations.evict(&id.to_memory_id())
    }

    /// Returns the memory of the methods without a `#[memory_id]`, if there is one.
    #[must_use]
    pub fn shared_chat_memory(&self) -> Option<Arc<dyn ChatMemory>> {
        self.0.memories.shared.as_ref().map(|shared| Arc::clone(&shared.memory))
    }
}

impl fmt::Debug for AiService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AiService")
            .field("name", &self.0.name)
            .field("model", &self.0.model.name())
            .field("tools", &self.0.toolbox.names().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}
