//! Creation of the memory for an id.

use super::{ChatMemory, MemoryId};
use crate::error::{Error, Result};
use std::sync::Arc;

/// A source of the memory for each id.
///
/// Usually a closure that returns a memory, or the `Result` of a memory's builder. A service
/// requests the memory of an id when a call needs it. A memory that lives in a store is dropped
/// after the call and requested again later. The memory must have the requested id. A memory with
/// another id is an error, because it would show one user the messages of another one.
///
/// # Examples
///
/// ```
/// use ai_services::memory::{ChatMemoryProvider, MemoryId, MessageWindowChatMemory};
///
/// let provider = |id: &MemoryId| {
///     MessageWindowChatMemory::builder().id(id).max_messages(20).build()
/// };
/// let memory = provider.chat_memory(&MemoryId::from("klaus"))?;
/// assert_eq!(memory.id().as_str(), "klaus");
/// # Ok::<(), ai_services::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot provide chat memories",
    label = "not a chat memory provider",
    note = "a provider is a closure such as `|id: &MemoryId| MessageWindowChatMemory::builder().id(id).max_messages(20).build()`"
)]
pub trait ChatMemoryProvider: Send + Sync {
    /// Returns the memory of this id.
    ///
    /// # Errors
    ///
    /// Fails if the memory cannot be created.
    fn chat_memory(&self, id: &MemoryId) -> Result<Arc<dyn ChatMemory>>;
}

impl<F, M> ChatMemoryProvider for F
where
    F: Fn(&MemoryId) -> M + Send + Sync,
    M: IntoChatMemory,
{
    fn chat_memory(&self, id: &MemoryId) -> Result<Arc<dyn ChatMemory>> {
        self(id).into_chat_memory()
    }
}

/// A chat memory, or the result of creating one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a chat memory",
    label = "not a chat memory",
    note = "return a chat memory, or the `Result` of building one"
)]
pub trait IntoChatMemory {
    /// Returns the memory as a shared pointer.
    ///
    /// # Errors
    ///
    /// Returns the error of creating the memory.
    fn into_chat_memory(self) -> Result<Arc<dyn ChatMemory>>;
}

impl<M: ChatMemory + 'static> IntoChatMemory for M {
    fn into_chat_memory(self) -> Result<Arc<dyn ChatMemory>> {
        Ok(Arc::new(self))
    }
}

impl<M: ChatMemory + 'static> IntoChatMemory for Result<M, Error> {
    fn into_chat_memory(self) -> Result<Arc<dyn ChatMemory>> {
        Ok(Arc::new(self?))
    }
}
