//! The record of one tool call.

use crate::message::{ToolCall, ToolResult};
use std::time::Duration;

/// A tool call that was executed, with its result.
#[derive(Clone, Debug)]
pub struct ToolExecution {
    call: ToolCall,
    result: ToolResult,
    duration: Duration,
    has_unknown_outcome: bool,
}

impl ToolExecution {
    /// Creates the record of a tool call, for a manual implementation of a service.
    #[must_use]
    pub fn new(call: &ToolCall, result: ToolResult, duration: Duration) -> Self {
        Self { call: call.clone(), result, duration, has_unknown_outcome: false }
    }

    /// Returns the tool call that the model requested.
    #[must_use]
    pub fn call(&self) -> &ToolCall {
        &self.call
    }

    /// Returns the result that was sent to the model.
    #[must_use]
    pub fn result(&self) -> &ToolResult {
        &self.result
    }

    /// Returns the time that the tool took.
    #[must_use]
    pub fn duration(&self) -> Duration {
        self.duration
    }

    /// Marks a call that may or may not have taken effect.
    #[doc(hidden)]
    #[must_use]
    pub fn with_unknown_outcome(mut self) -> Self {
        self.has_unknown_outcome = true;
        self
    }

    /// Returns `true` if the call may or may not have taken effect: the tool was stopped by its time limit or by a
    /// panic, or its process ended while it ran, and the [effect](crate::tool::Effect) of the tool leaves the
    /// outcome open. The result says so to the model.
    #[must_use]
    pub fn has_unknown_outcome(&self) -> bool {
        self.has_unknown_outcome
    }
}
