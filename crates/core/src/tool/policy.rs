//! Policies for failed tool calls.

/// The reaction to a call of a tool that does not exist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnknownToolPolicy {
    /// The names of the available tools are sent to the model, which may try again.
    #[default]
    TellModel,
    /// The call fails with [`ErrorKind::Tool`](crate::ErrorKind::Tool).
    Fail,
}

/// The reaction to arguments that do not match the parameters of the tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolArgumentsPolicy {
    /// The mistake and its path are sent to the model, which may try again.
    #[default]
    TellModel,
    /// The call fails with [`ErrorKind::Tool`](crate::ErrorKind::Tool).
    Fail,
}

/// The reaction to a tool that returns an error, panics, or exceeds its time limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolErrorPolicy {
    /// The text of the error is sent to the model.
    #[default]
    TellModel,
    /// The model receives only "the tool failed", without the reason.
    Conceal,
    /// The call fails with [`ErrorKind::Tool`](crate::ErrorKind::Tool).
    Fail,
}

/// All policies for failed tool calls.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default)]
pub struct ToolPolicies {
    pub unknown: UnknownToolPolicy,
    pub arguments: ToolArgumentsPolicy,
    pub error: ToolErrorPolicy,
}
