//! Policies for failed tool calls, and limits of tool calls.

use std::time::Duration;

/// The reaction to a call of a tool that does not exist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnknownToolPolicy {
    /// The names of the available tools are sent to the model, which may try again.
    #[default]
    SendToModel,
    /// The call fails with [`ErrorKind::Tool`](crate::ErrorKind::Tool).
    Fail,
}

/// The reaction to arguments that do not match the parameters of the tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolArgumentsPolicy {
    /// The mistake and its path are sent to the model, which may try again.
    #[default]
    SendToModel,
    /// The call fails with [`ErrorKind::Tool`](crate::ErrorKind::Tool).
    Fail,
}

/// The reaction to a tool that returns an error, panics, or exceeds its time limit.
///
/// A tool that panicked or was stopped by its time limit may have taken effect. With each policy, the result or the
/// error says so, unless the tool [only reads](crate::tool::Effect) or its verifier found the outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolErrorPolicy {
    /// The text of the error, or the time limit, is sent to the model. The text of a panic is not: the
    /// model receives only "the tool failed".
    #[default]
    SendToModel,
    /// The model receives only "the tool failed", without the reason.
    Conceal,
    /// The call fails with [`ErrorKind::Tool`](crate::ErrorKind::Tool).
    Fail,
}

/// The policies and limits of the tool calls of one service.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct ToolSettings {
    /// Policy for calls of a tool that does not exist.
    pub unknown_tool: UnknownToolPolicy,
    /// Policy for arguments that do not match the parameters of the tool.
    pub arguments: ToolArgumentsPolicy,
    /// Policy for tools that fail.
    pub error: ToolErrorPolicy,
    /// Time limit of one tool call, for tools without their own. Default: 60 seconds.
    pub timeout: Duration,
    /// Largest number of tools that run concurrently. 0 is treated as 1. Default: 8.
    pub concurrency: usize,
    /// Largest size of one result, in bytes. A larger result fails the service call. Default: 256 KiB.
    pub max_result_bytes: usize,
}

impl Default for ToolSettings {
    fn default() -> Self {
        Self {
            unknown_tool: UnknownToolPolicy::default(),
            arguments: ToolArgumentsPolicy::default(),
            error: ToolErrorPolicy::default(),
            timeout: Duration::from_secs(60),
            concurrency: 8,
            max_result_bytes: 256 * 1024,
        }
    }
}
