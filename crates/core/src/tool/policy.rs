//! What happens when a tool call goes wrong.

/// What happens when the model calls a tool that does not exist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnknownToolPolicy {
    /// The model is told which tools there are, and may try again.
    #[default]
    TellModel,
    /// The call fails with [`ErrorKind::Tool`](crate::ErrorKind::Tool).
    Fail,
}

/// What happens when the model's arguments are not what the tool takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolArgumentsPolicy {
    /// The model is told what is wrong and where, and may try again.
    #[default]
    TellModel,
    /// The call fails with [`ErrorKind::Tool`](crate::ErrorKind::Tool).
    Fail,
}

/// What happens when a tool returns an error, panics, or takes too long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolErrorPolicy {
    /// The model is told the error's text.
    #[default]
    TellModel,
    /// The model is told that the tool failed, but not why.
    Conceal,
    /// The call fails with [`ErrorKind::Tool`](crate::ErrorKind::Tool).
    Fail,
}

/// All policies and limits of running tools.
#[derive(Clone, Copy, Debug, Default)]
pub struct ToolPolicies {
    pub unknown: UnknownToolPolicy,
    pub arguments: ToolArgumentsPolicy,
    pub error: ToolErrorPolicy,
}
