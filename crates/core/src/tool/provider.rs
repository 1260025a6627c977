//! Tools that are selected for each call.

use super::Tool;
use crate::error::Result;
use crate::invocation::{InvocationContext, MemoryId};
use crate::message::{ChatMessage, UserMessage};
use async_trait::async_trait;

/// Selects tools for each call, in addition to the tools of the service.
///
/// Implementations carry `#[ai_services::async_trait]`. Without it, the compiler reports that "lifetime
/// parameters or bounds on method … do not match the trait declaration".
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
    /// Returns the tools for this call.
    ///
    /// # Errors
    ///
    /// Return an error if the tools cannot be determined. The call then fails.
    async fn tools(&self, request: &ToolRequest<'_>) -> Result<Vec<Tool>>;

    /// Returns the names of all tools that this provider returns for any call, or `None` if they are not known.
    /// Default: `None`.
    ///
    /// Called when the service is built. With the names, an unknown tool in the `#[tools("…")]` of a method is an
    /// error of the builder, and methods that use none of these tools do not call the provider.
    fn tool_names(&self) -> Option<Vec<String>> {
        None
    }

    /// Returns the times at which the provider is called. Default: [`ToolRefresh::EachCall`].
    fn refresh(&self) -> ToolRefresh {
        ToolRefresh::EachCall
    }
}

/// The times at which a [`ToolProvider`] is called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolRefresh {
    /// Once for each call of the service.
    #[default]
    EachCall,
    /// Before each request to the model. The provider can react to the [turn](ToolRequest::turn), for example by
    /// offering the next step after the first one was taken.
    ///
    /// Prompt caches match the beginning of a request, which contains the tools: keep the order of the tools, and
    /// append new ones.
    EachRequest,
}

/// The data of a call that a [`ToolProvider`] can use to select tools.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ToolRequest<'a> {
    /// The user message.
    pub user_message: &'a UserMessage,
    /// The memory id, if the method has a `#[memory_id]` parameter.
    pub memory_id: Option<&'a MemoryId>,
    /// The application's data for this call.
    pub context: &'a InvocationContext,
    /// The messages of the turn after the user message: answers of the model, and results of tools. Empty before the
    /// first request.
    pub turn: &'a [ChatMessage],
    found_tools: &'a [&'a str],
    loaded_tools: Option<&'a [&'a str]>,
}

impl<'a> ToolRequest<'a> {
    #[doc(hidden)]
    pub fn new(
        user_message: &'a UserMessage,
        memory_id: Option<&'a MemoryId>,
        context: &'a InvocationContext,
    ) -> Self {
        let (turn, found_tools, loaded_tools) = (&[], &[], None);
        Self { user_message, memory_id, context, turn, found_tools, loaded_tools }
    }

    /// Sets the messages of the turn, and the tools that were found in the conversation.
    #[doc(hidden)]
    #[must_use]
    pub fn with_turn(self, turn: &'a [ChatMessage], found_tools: &'a [&'a str]) -> Self {
        Self { turn, found_tools, ..self }
    }

    /// Sets the tools that were found by results of searches in the request, for a model with
    /// [`Capability::DeferredTools`](crate::model::Capability::DeferredTools).
    #[doc(hidden)]
    #[must_use]
    pub fn with_loaded_tools(self, names: &'a [&'a str]) -> Self {
        Self { loaded_tools: Some(names), ..self }
    }

    /// Returns the names of the tools whose definitions the messages of the request load. `None` if the model cannot
    /// load definitions from messages.
    pub(super) fn loaded_tools(&self) -> Option<&'a [&'a str]> {
        self.loaded_tools
    }

    /// Returns the names of the tools that were found in the conversation, in the order in which they were found.
    pub(super) fn found_tools(&self) -> &'a [&'a str] {
        self.found_tools
    }
}
