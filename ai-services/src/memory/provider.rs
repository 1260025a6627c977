//! From an id to its memory.

use super::{ChatMemory, MemoryId};
use crate::error::{Error, Result};
use std::sync::Arc;

/// Gives a service the memory of each id.
///
/// Usually a closure that returns a memory, or the `Result` of a memory's builder. A service asks
/// for the memory of an id when a call needs it; a memory that lives in a store is dropped after
/// the call and asked for anew. The memory must have the id that was asked for: a memory of
/// another id would show one user what another one said, and is an error.
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
    /// The memory of this id.
    ///
    /// # Errors
    ///
    /// Whatever keeps the memory from being made.
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

/// A chat memory, or the result of making one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a chat memory",
    label = "not a chat memory",
    note = "return a chat memory, or the `Result` of building one"
)]
pub trait IntoChatMemory {
    /// The memory behind a shared pointer.
    ///
    /// # Errors
    ///
    /// The error of making it.
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
