//! Errors of tools.

use super::lost_effect::LostEffect;
use crate::approval::Suspension;
use crate::error::{BoxError, Error, ErrorKind, panic_text};
use std::any::Any;
use std::fmt;

/// The error of a tool call, with its visibility to the model.
///
/// A tool method may return any error that implements `Display`: its text is sent to the model. Return a
/// `ToolError` to conceal the text from the model or to fail the whole call.
///
/// # Examples
///
/// ```
/// use ai_services::tool::ToolError;
///
/// // The message is sent to the model, which may try again.
/// let visible = ToolError::new("booking 7 does not exist");
/// // The model receives only "the tool failed"; the source is visible to the caller.
/// let concealed = ToolError::concealed(std::io::Error::other("db-3: password expired"));
/// assert_eq!(concealed.text_for_model(), "the tool failed");
/// // The whole call fails.
/// let fatal = ToolError::fatal(std::io::Error::other("out of disk space"));
/// # let _ = (visible, fatal);
/// ```
#[derive(Debug)]
pub struct ToolError {
    pub(crate) failure: FailureKind,
    message: String,
    source: Option<BoxError>,
    /// The effect of a call without a result. `None` for a tool that only reads, or that ended with a result.
    effect: Option<LostEffect>,
}

/// The kind of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailureKind {
    /// The model called a tool that does not exist.
    UnknownTool,
    /// The arguments do not match the parameters of the tool.
    Arguments,
    /// The tool returned an error.
    Tool,
    /// The tool returned an error whose text is not sent to the model.
    Concealed,
    /// The tool returned an error that fails the whole call.
    Fatal,
    /// The tool waits, and the turn that calls it is suspended.
    Suspended,
    /// The tool exceeded its time limit.
    Timeout,
    /// The tool lost the answer of its receiver, maybe after the receiver had acted.
    LostAnswer,
    /// The tool panicked. The text is not sent to the model: it may quote the program's data.
    Panic,
}

impl ToolError {
    /// Creates an error whose text is sent to the model.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self::of(FailureKind::Tool, message)
    }

    /// Creates an error whose text is concealed: the model receives only "the tool failed".
    #[must_use]
    pub fn concealed(source: impl Into<BoxError>) -> Self {
        let source = source.into();
        let message = source.to_string();
        Self { source: Some(source), ..Self::of(FailureKind::Concealed, message) }
    }

    /// Creates an error that fails the whole call, regardless of the policies of the service.
    #[must_use]
    pub fn fatal(source: impl Into<BoxError>) -> Self {
        let source = source.into();
        let message = source.to_string();
        Self { source: Some(source), ..Self::of(FailureKind::Fatal, message) }
    }

    /// Creates the error of a call that waits: for a decision about another turn, for answers of the user, or for the end
    /// of work elsewhere. It suspends the turn of the call, whatever the policies of the service are. When the turn is
    /// resumed, the tool is called again, with the same [idempotency key](super::ToolInput::idempotency_key).
    ///
    /// A call may wait for answers or work only if [`ToolInput::can_suspend`](super::ToolInput::can_suspend).
    #[doc(hidden)]
    #[must_use]
    pub fn suspended(suspension: Suspension) -> Self {
        let message = suspension.to_string();
        Self { source: Some(suspension.into()), ..Self::of(FailureKind::Suspended, message) }
    }

    /// Creates the error of a tool that sent a request and got no answer: the connection broke, or the receiver did
    /// not answer in time. The text is sent to the model.
    ///
    /// The call is treated as one that exceeded its time limit, by the [`Effect`](super::Effect) of the tool: of a
    /// tool that only reads, this is a plain error. Otherwise its verifier decides, or the model and the caller get
    /// "outcome unknown". Use it only if the request may have reached its receiver.
    ///
    /// # Examples
    ///
    /// ```
    /// use ai_services::model::ToolSpecification;
    /// use ai_services::tool::{Tool, ToolError, ToolOutput};
    /// # async fn send_payment() -> std::io::Result<String> { Ok("receipt 7".to_owned()) }
    ///
    /// let pay = Tool::from_fn(ToolSpecification::new("pay", "Pays the bill."), |_call| async {
    ///     match send_payment().await {
    ///         Ok(receipt) => Ok(ToolOutput::text(receipt)),
    ///         Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
    ///             Err(ToolError::new("the bank is not reachable"))
    ///         }
    ///         Err(_) => Err(ToolError::outcome_unknown("the connection to the bank broke")),
    ///     }
    /// });
    /// # assert_eq!(pay.name(), "pay");
    /// ```
    #[must_use]
    pub fn outcome_unknown(message: impl Into<String>) -> Self {
        Self::of(FailureKind::LostAnswer, message)
    }

    /// Creates an error of arguments that the receiver of the call rejected. The text is sent to the model, or the
    /// service call fails, as the service's [`ToolArgumentsPolicy`](super::ToolArgumentsPolicy) says.
    #[must_use]
    pub fn invalid_arguments(message: impl Into<String>) -> Self {
        Self::of(FailureKind::Arguments, message)
    }

    pub(crate) fn of(failure: FailureKind, message: impl Into<String>) -> Self {
        Self { failure, message: message.into(), source: None, effect: None }
    }

    pub(super) fn panic(panic: &(dyn Any + Send)) -> Self {
        Self::of(FailureKind::Panic, format!("the tool panicked: {}", panic_text(panic)))
    }

    /// Sets the source, which the model does not see.
    #[doc(hidden)]
    #[must_use]
    pub fn with_source(mut self, source: impl Into<BoxError>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Sets the effect of a call without a result.
    pub(super) fn with_effect(mut self, effect: LostEffect) -> Self {
        self.effect = Some(effect);
        self
    }

    pub(super) fn effect(&self) -> Option<LostEffect> {
        self.effect
    }

    /// Returns `true` if the tool was stopped, maybe after it had taken effect.
    pub(super) fn is_stop(&self) -> bool {
        matches!(self.failure, FailureKind::Timeout | FailureKind::Panic)
    }

    /// Returns the error of the service call that has called the tool.
    #[doc(hidden)]
    #[must_use]
    pub fn into_error(self, tool: &str) -> Error {
        let (kind, happened) = match self.failure {
            FailureKind::Suspended => (ErrorKind::Suspended, "is suspended"),
            _ => (ErrorKind::Tool, "failed"),
        };
        Error::new(kind, format!("tool `{tool}` {happened}: {self}")).with_source(self)
    }

    /// Returns `true` if the tool may have taken effect, and has no result.
    pub(super) fn loses_result(&self) -> bool {
        self.is_stop() || self.failure == FailureKind::LostAnswer
    }

    /// Returns the text that is sent to the model.
    #[must_use]
    pub fn text_for_model(&self) -> &str {
        match self.failure {
            FailureKind::Concealed | FailureKind::Fatal | FailureKind::Panic => "the tool failed",
            FailureKind::Suspended => "the call waits for a decision",
            _ => &self.message,
        }
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        f.write_str(self.effect.map_or("", LostEffect::note))
    }
}

impl std::error::Error for ToolError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

/// The error type of a tool: anything that implements `Display`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the error of a tool",
    label = "does not implement `Display`",
    note = "the error's text is sent to the model; return an error that implements `Display`, or an `ai_services::tool::ToolError`"
)]
pub trait IntoToolError {
    /// Converts the error to a `ToolError`.
    fn into_tool_error(self) -> ToolError;
}

#[diagnostic::do_not_recommend]
impl<E: fmt::Display + 'static> IntoToolError for E {
    fn into_tool_error(self) -> ToolError {
        let mut own = Some(self);
        // A `ToolError` also implements `Display`, but has its own visibility: detect it by its type.
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
        assert_eq!(error.failure, FailureKind::Concealed);
        assert_eq!("visible".into_tool_error().text_for_model(), "visible");
    }
}
