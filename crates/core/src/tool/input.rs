//! The input of tool calls.

use super::arguments::ToolArguments;
use super::error::ToolError;
use crate::invocation::{InvocationContext, MemoryId};
use crate::message::ToolCall;
use crate::model::UsageMeter;

/// The input of one tool call: the call of the model, and data of the application.
#[derive(Clone, Debug)]
pub struct ToolInput {
    call: ToolCall,
    context: ToolContext,
}

/// The context that all tool calls of one service call share.
///
/// Cloning is cheap: it copies three pointers.
#[doc(hidden)]
#[derive(Clone, Debug, Default)]
pub struct ToolContext {
    /// The memory id, if the service method has a `#[memory_id]` parameter.
    pub memory_id: Option<MemoryId>,
    /// The application's data for this call.
    pub invocation: InvocationContext,
    /// The meter that counts the usage of models that tools call.
    pub meter: UsageMeter,
}

impl ToolInput {
    pub(crate) fn new(call: &ToolCall, context: &ToolContext) -> Self {
        Self { call: call.clone(), context: context.clone() }
    }

    /// Returns the call as the model wrote it.
    #[must_use]
    pub fn call(&self) -> &ToolCall {
        &self.call
    }

    /// Returns the memory id. `None` if the service method has no `#[memory_id]` parameter.
    #[must_use]
    pub fn memory_id(&self) -> Option<&MemoryId> {
        self.context.memory_id.as_ref()
    }

    /// Returns the application's data for this call.
    #[must_use]
    pub fn context(&self) -> &InvocationContext {
        &self.context.invocation
    }

    /// Returns the meter for the usage of models that the tool calls.
    #[must_use]
    pub fn meter(&self) -> &UsageMeter {
        &self.context.meter
    }

    /// Parses the arguments.
    ///
    /// # Errors
    ///
    /// Fails if the arguments are not a JSON object, or contain one twice. Missing arguments are read as an
    /// empty object. Trailing commas and an object inside a JSON string are accepted.
    pub fn arguments(&self) -> Result<ToolArguments<'_>, ToolError> {
        ToolArguments::parse(self.call.arguments())
    }
}

/// The type of a `#[memory_id]` or `#[context]` parameter of a tool.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be injected into a tool",
    label = "not known to the call",
    note = "`#[memory_id]` takes `&MemoryId`, `MemoryId`, or an `Option` of these; `#[context]` takes `&InvocationContext`, `InvocationContext` or `&ToolInput`"
)]
pub trait FromToolInput<'a>: Sized {
    /// Returns the value for this call.
    ///
    /// # Errors
    ///
    /// Fails if the call does not have this value. The service call then fails.
    fn from_tool_input(input: &'a ToolInput) -> Result<Self, ToolError>;
}

impl<'a> FromToolInput<'a> for &'a MemoryId {
    fn from_tool_input(input: &'a ToolInput) -> Result<Self, ToolError> {
        input.memory_id().ok_or_else(|| {
            ToolError::fatal(
                "a tool requires the memory id, but the method has no `#[memory_id]` parameter",
            )
        })
    }
}

impl<'a> FromToolInput<'a> for MemoryId {
    fn from_tool_input(input: &'a ToolInput) -> Result<Self, ToolError> {
        <&Self>::from_tool_input(input).cloned()
    }
}

impl<'a> FromToolInput<'a> for Option<&'a MemoryId> {
    fn from_tool_input(input: &'a ToolInput) -> Result<Self, ToolError> {
        Ok(input.memory_id())
    }
}

impl<'a> FromToolInput<'a> for Option<MemoryId> {
    fn from_tool_input(input: &'a ToolInput) -> Result<Self, ToolError> {
        Ok(input.memory_id().cloned())
    }
}

impl<'a> FromToolInput<'a> for &'a InvocationContext {
    fn from_tool_input(input: &'a ToolInput) -> Result<Self, ToolError> {
        Ok(input.context())
    }
}

impl<'a> FromToolInput<'a> for InvocationContext {
    fn from_tool_input(input: &'a ToolInput) -> Result<Self, ToolError> {
        Ok(input.context().clone())
    }
}

impl<'a> FromToolInput<'a> for &'a ToolInput {
    fn from_tool_input(input: &'a ToolInput) -> Result<Self, ToolError> {
        Ok(input)
    }
}
