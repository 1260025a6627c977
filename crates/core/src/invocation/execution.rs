//! The record of one tool call.

use crate::message::{ToolCall, ToolResult};
use std::time::Duration;

/// A tool call that was executed, with its result.
#[derive(Clone, Debug)]
pub struct ToolExecution {
    call: ToolCall,
    result: ToolResult,
    duration: Duration,
}

impl ToolExecution {
    /// Creates the record of a tool call, for a manual implementation of a service.
    #[must_use]
    pub fn new(call: &ToolCall, result: ToolResult, duration: Duration) -> Self {
        Self { call: call.clone(), result, duration }
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
}
