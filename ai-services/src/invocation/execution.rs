//! The record of one tool call.

use crate::message::{AiMessage, ToolCall, ToolResult};
use std::time::Duration;

/// A tool call that was carried out, with its result.
#[derive(Clone, Debug)]
pub struct ToolExecution {
    message: AiMessage,
    index: usize,
    result: ToolResult,
    duration: Duration,
}

impl ToolExecution {
    /// The `index`-th call of `message`, if there is one.
    pub(crate) fn new(
        message: &AiMessage,
        index: usize,
        result: ToolResult,
        duration: Duration,
    ) -> Self {
        Self { message: message.clone(), index, result, duration }
    }

    /// What the model asked for.
    #[must_use]
    pub fn call(&self) -> Option<&ToolCall> {
        self.message.tool_calls().get(self.index)
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
