//! Failures of tools.

use crate::error::BoxError;
use std::any::Any;
use std::fmt;

/// Why a tool call failed, and who may know.
///
/// A tool method may return any error that prints itself: the model is told its text. Return a
/// `ToolError` to decide otherwise.
///
/// # Examples
///
/// ```
/// use ai_services::tool::ToolError;
///
/// // The model is told, and may try again.
/// let told = ToolError::new("booking 7 does not exist");
/// // The model is told only that the tool failed; the source stays with the caller.
/// let concealed = ToolError::concealed(std::io::Error::other("db-3: password expired"));
/// assert_eq!(concealed.told_to_model(), "the tool failed");
/// // The whole call fails.
/// let fatal = ToolError::fatal(std::io::Error::other("out of disk space"));
/// # let _ = (told, fatal);
/// ```
#[derive(Debug)]
pub struct ToolError {
    pub(crate) failure: Failure,
    message: String,
    source: Option<BoxError>,
}

/// What kind of failure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// No tool has the name.
    UnknownTool,
    /// The arguments are not what the tool takes.
    Arguments,
    /// The tool returned an error.
    Tool,
    /// The tool returned an error that the model must not see.
    Concealed,
    /// The tool wants the call to fail.
    Fatal,
    /// The tool took too long.
    Timeout,
    /// The tool panicked.
    Panic,
}

impl ToolError {
    /// A failure whose text the model is told.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self { failure: Failure::Tool, message: message.into(), source: None }
    }

    /// A failure of which the model is told nothing but that it happened.
    #[must_use]
    pub fn concealed(source: impl Into<BoxError>) -> Self {
        let source = source.into();
        let message = source.to_string();
        Self { failure: Failure::Concealed, message, source: Some(source) }
    }

    /// A failure that ends the whole call, whatever the service's policy.
    #[must_use]
    pub fn fatal(source: impl Into<BoxError>) -> Self {
        let source = source.into();
        let message = source.to_string();
        Self { failure: Failure::Fatal, message, source: Some(source) }
    }

    pub(crate) fn of(failure: Failure, message: impl Into<String>) -> Self {
        Self { failure, message: message.into(), source: None }
    }

    /// What the model is told.
    #[must_use]
    pub fn told_to_model(&self) -> &str {
        match self.failure {
            Failure::Concealed | Failure::Fatal => "the tool failed",
            _ => &self.message,
        }
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ToolError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

/// An error that a tool may return: anything that prints itself.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the error of a tool",
    label = "does not implement `Display`",
    note = "the model is told the error's text; return an error that implements `Display`, or an `ai_services::tool::ToolError`"
)]
pub trait IntoToolError {
    /// The failure as the service sees it.
    fn into_tool_error(self) -> ToolError;
}

#[diagnostic::do_not_recommend]
impl<E: fmt::Display + 'static> IntoToolError for E {
    fn into_tool_error(self) -> ToolError {
        let mut own = Some(self);
        // A `ToolError` says itself who may know; it also prints itself, hence the look at the type.
        let tool_error = (&mut own as &mut dyn Any).downcast_mut::<Option<ToolError>>();
        if let Some(error) = tool_error.and_then(Option::take) {
            return error;
        }
        ToolError::new(own.map(|error| error.to_string()).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tool_error_keeps_its_kind() {
        let error = ToolError::concealed("secret").into_tool_error();
        assert_eq!(error.failure, Failure::Concealed);
        assert_eq!("plain".into_tool_error().told_to_model(), "plain");
    }
}
