//! Access to the open turns of a service.

use super::stream_event::StreamEvent;
use crate::approval::PendingTurn;
use crate::error::Result;
use crate::invocation::{InvocationContext, MemoryId};
use async_trait::async_trait;
use futures_util::stream::BoxStream;

/// A service whose turns can wait, as a server needs it: to show the calls that wait, and to resume the turn.
///
/// Implemented by `AiService`, to which every generated service dereferences.
#[async_trait]
pub trait OpenTurns: Send + Sync {
    /// Returns the tool calls of a conversation that wait, if there are any.
    ///
    /// # Errors
    ///
    /// Fails if the memory has no journal, or the store fails.
    async fn pending_turn(&self, id: &MemoryId) -> Result<Option<PendingTurn>>;

    /// Resumes the open turn of a conversation, and streams the rest of it. Nothing runs before the first poll. The last
    /// item is [`StreamEvent::Completed`], [`StreamEvent::Pending`] or an error.
    fn resume_stream(
        &self,
        id: &MemoryId,
        context: InvocationContext,
    ) -> BoxStream<'static, Result<StreamEvent>>;
}
