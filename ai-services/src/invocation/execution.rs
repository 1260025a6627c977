//! The record of one tool call.

use crate::message::{ToolCall, ToolResult};
use std::time::Duration;

/// A tool call that was carried out, with its result.
#[derive(Clone, Debug)]
pub struct ToolExecution {
    call: ToolCall,
    result: ToolResult,
    duration: Duration,
}

impl ToolExecution {
    pub(crate) fn new(call: &ToolCall, result: ToolResult, duration: Duration) -> Self {
        Self { call: call.clone(), result, duration }
    }

    /// What the model asked for.
    #[must_use]
    pub fn call(&self) -> &ToolCall {
        &self.call
    }

    /// What the model was told.
    #[must_use]
    pub fn result(&self) -> &ToolResult {
        &self.result
    }

    /// How long the tool ran.
    #[must_use]
    pub fn duration(&self) -> Duration {
        self.duration
    }
}
