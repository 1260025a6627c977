//! The result of creating a memory.

use super::ChatMemory;
use crate::error::{Error, Result};
use std::sync::Arc;

/// A chat memory, or the result of creating one: the return type of a memory provider.
///
/// # Examples
///
/// ```
/// use ai_services::memory::{IntoChatMemory, MessageWindowChatMemory};
///
/// let memory = MessageWindowChatMemory::builder().id("klaus").max_messages(20).build();
/// assert_eq!(memory.into_chat_memory()?.id().as_str(), "klaus");
/// # Ok::<(), ai_services::Error>(())
/// ```
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
