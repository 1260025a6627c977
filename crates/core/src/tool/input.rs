//! What a tool is called with.

use super::arguments::ToolArguments;
use super::error::ToolError;
use crate::invocation::{InvocationContext, MemoryId};
use crate::message::ToolCall;
use crate::model::UsageMeter;

/// One call of a tool: what the model wrote, and what the application passes along.
#[derive(Clone, Debug)]
pub struct ToolInput {
    call: ToolCall,
    surroundings: Surroundings,
}

/// What all tool calls of one service call share. Cloning copies three pointers.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    pub memory_id: Option<MemoryId>,
    pub context: InvocationContext,
    pub meter: UsageMeter,
}

impl ToolInput {
    pub(crate) fn new(call: &ToolCall, surroundings: &Surroundings) -> Self {
        Self { call: call.clone(), surroundings: surroundings.clone() }
    }

    /// What the model wrote.
    #[must_use]
    pub fn call(&self) -> &ToolCall {
        &self.call
    }

    /// Whose call it is, if the method has a `#[memory_id]`.
    #[must_use]
    pub fn memory_id(&self) -> Option<&MemoryId> {
        self.surroundings.memory_id.as_ref()
    }

    /// The application's data for this call.
    #[must_use]
    pub fn context(&self) -> &InvocationContext {
        &self.surroundings.context
    }

    /// Where the usage of models is counted that the tool asks.
    #[must_use]
    pub fn meter(&self) -> &UsageMeter {
        &self.surroundings.meter
    }

    /// The arguments by name.
    ///
    /// # Errors
    ///
    /// If the model wrote something that is not a JSON object. No arguments at all are an empty
    /// object; a trailing comma, and an object inside a JSON string, are forgiven.
    pub fn arguments(&self) -> Result<ToolArguments<'_>, ToolError> {
        ToolArguments::parse(self.call.arguments())
    }
}

/// A `#[memory_id]` or `#[context]` parameter of a tool.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be injected into a tool",
    label = "not known to the call",
    note = "`#[memory_id]` takes `&MemoryId`, `MemoryId`, or an `Option` of these; `#[context]` takes `&InvocationContext`, `InvocationContext` or `&ToolInput`"
)]
pub trait FromToolInput<'a>: Sized {
    /// The value for this call.
    ///
    /// # Errors
    ///
    /// If the call has no such value. The service call then fails.
    fn from_tool_input(input: &'a ToolInput) -> Result<Self, ToolError>;
}

impl<'a> FromToolInput<'a> for &'a MemoryId {
    fn from_tool_input(input: &'a ToolInput) -> Result<Self, ToolError> {
        input.memory_id().ok_or_else(|| {
            ToolError::fatal("a tool asks for the memory id, but the method has no `#[memory_id]`")
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
