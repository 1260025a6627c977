//! Tools that are chosen for each call.

use super::Tool;
use crate::error::Result;
use crate::invocation::{InvocationContext, MemoryId};
use crate::message::UserMessage;
use async_trait::async_trait;

/// Chooses tools for each call, in addition to the service's own.
///
/// # Examples
///
/// ```
/// use ai_services::tool::{Tool, ToolProvider, ToolRequest};
///
/// struct OnlyFor(&'static str, Tool);
///
/// #[ai_services::async_trait]
/// impl ToolProvider for OnlyFor {
///     async fn tools(&self, request: &ToolRequest<'_>) -> ai_services::Result<Vec<Tool>> {
///         let allowed = request.memory_id.is_some_and(|id| id.as_str() == self.0);
///         Ok(allowed.then(|| self.1.clone()).into_iter().collect())
///     }
/// }
/// ```
#[async_trait]
pub trait ToolProvider: Send + Sync {
    /// The tools for this call.
    ///
    /// # Errors
    ///
    /// Whatever keeps the tools from being found; the call then fails.
    async fn tools(&self, request: &ToolRequest<'_>) -> Result<Vec<Tool>>;
}

/// What a [`ToolProvider`] may base its choice on.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ToolRequest<'a> {
    /// What the person said.
    pub user_message: &'a UserMessage,
    /// Whose call it is.
    pub memory_id: Option<&'a MemoryId>,
    /// The application's data for this call.
    pub context: &'a InvocationContext,
}

impl<'a> ToolRequest<'a> {
    pub fn new(
        user_message: &'a UserMessage,
        memory_id: Option<&'a MemoryId>,
        context: &'a InvocationContext,
    ) -> Self {
        Self { user_message, memory_id, context }
    }
}
