//! The memories of a service.

use super::conversations::{ConversationSlot, Conversations};
use crate::memory::{ChatMemory, MemoryId};
use crate::{Error, Result};
use std::sync::Arc;

/// The source of the memory for each id.
pub(super) type MemoryProvider = dyn Fn(&MemoryId) -> Result<Arc<dyn ChatMemory>> + Send + Sync;

/// The memories of a service, as its builder received them.
#[derive(Default)]
pub(super) struct MemorySources {
    pub(super) shared: Option<Arc<dyn ChatMemory>>,
    pub(super) provider: Option<Box<MemoryProvider>>,
    /// Largest number of idle memories that are kept.
    pub(super) max_kept: Option<usize>,
}

/// The memories of a service, with the queues of their callers.
pub(super) struct Memories {
    /// The memory of the methods without `#[memory_id]`.
    pub(super) shared: Option<SharedMemory>,
    /// The source of memories for the methods with `#[memory_id]`.
    provider: Option<Box<MemoryProvider>>,
    pub(super) conversations: Conversations,
}

/// One memory for many callers.
pub(super) struct SharedMemory {
    pub(super) memory: Arc<dyn ChatMemory>,
    /// The queue of its callers.
    pub(super) slot: Arc<ConversationSlot>,
}

impl SharedMemory {
    fn new(memory: Arc<dyn ChatMemory>) -> Self {
        let slot = Arc::new(ConversationSlot::new(Some(Arc::clone(&memory))));
        Self { memory, slot }
    }
}

impl Memories {
    pub(super) fn new(sources: MemorySources) -> Self {
        Self {
            shared: sources.shared.map(SharedMemory::new),
            provider: sources.provider,
            conversations: Conversations::new(sources.max_kept),
        }
    }

    /// Returns the id by which calls lock the conversation: `None` for the shared memory of a service without a
    /// provider.
    pub(super) fn id_of(&self, id: &MemoryId) -> Option<MemoryId> {
        let is_shared = || self.shared.as_ref().is_some_and(|shared| shared.memory.id() == id);
        if self.provider.is_none() && is_shared() { None } else { Some(id.clone()) }
    }

    /// Returns the provider's memory of `id`.
    ///
    /// # Errors
    ///
    /// If there is no provider, the provider fails, or it returns the memory of another id.
    pub(super) fn provide(&self, id: &MemoryId) -> Result<Arc<dyn ChatMemory>> {
        let provider = self.provider.as_ref().ok_or_else(|| {
            Error::configuration("the service has no chat memory provider; call `.chat_memory_provider(...)` before `.build()`")
        })?;
        let memory = provider(id)?;
        if memory.id() == id {
            return Ok(memory);
        }
        Err(Error::configuration(format!(
            "the chat memory provider returned the memory of id `{}` for id `{id}`; pass the id on, for example with `.id(id)`",
            memory.id()
        )))
    }
}
