//! Guardrails that check user messages.

use crate::document::TextSegment;
use crate::error::Result;
use crate::forward::forward_through_arc;
use crate::invocation::TurnContext;
use crate::message::UserMessage;
use async_trait::async_trait;
use std::borrow::Cow;

/// The data that an input guardrail checks.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct InputGuardrailRequest<'a> {
    /// The user message, as rewritten by the guardrails before this one, without retrieved texts.
    pub user_message: &'a UserMessage,
    /// The retrieved texts that will be sent to the model.
    pub contents: &'a [TextSegment],
    /// The turn: the memory id, the earlier messages, and the user message as it was written.
    pub turn: &'a TurnContext,
}

impl<'a> InputGuardrailRequest<'a> {
    /// Creates a request without retrieved texts, for tests.
    #[must_use]
    pub fn new(user_message: &'a UserMessage, turn: &'a TurnContext) -> Self {
        Self { user_message, contents: &[], turn }
    }

    /// Sets the retrieved texts.
    #[must_use]
    pub fn with_contents(self, contents: &'a [TextSegment]) -> Self {
        Self { contents, ..self }
    }

    /// Returns all texts of the message, joined by line breaks. Empty if the message has no text.
    #[must_use]
    pub fn text(&self) -> Cow<'a, str> {
        self.user_message.joined_text().unwrap_or_default()
    }
}

/// The decision of an input guardrail about a message.
#[derive(Clone, Debug)]
pub enum InputVerdict {
    /// The message is accepted.
    Success,
    /// This message replaces the user message. Later guardrails check it, and it is sent and stored.
    Rewrite(UserMessage),
    /// The call fails with this reason. Later guardrails still run, and the error lists all reasons.
    Failure(Box<str>),
    /// The call fails with this reason at once. Later guardrails do not run.
    Fatal(Box<str>),
}

impl InputVerdict {
    /// Returns the name for traces.
    #[doc(hidden)]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Rewrite(_) => "rewrite",
            Self::Failure(_) => "failure",
            Self::Fatal(_) => "fatal",
        }
    }
}

/// Checks user messages before they are sent to a model.
///
/// Implementations carry `#[ai_services::async_trait]`. Without it, the compiler reports that "lifetime
/// parameters or bounds on method … do not match the trait declaration".
///
/// # Examples
///
/// ```
/// use ai_services::guardrail::{InputGuardrail, InputGuardrailRequest, InputVerdict};
/// use ai_services::testing::guardrails::check_input;
/// use ai_services::{Result, async_trait};
///
/// /// Rejects questions about law.
/// struct NoLegalAdvice;
///
/// #[async_trait]
/// impl InputGuardrail for NoLegalAdvice {
///     async fn check(&self, request: InputGuardrailRequest<'_>) -> Result<InputVerdict> {
///         Ok(if request.text().contains("sue") {
///             InputVerdict::Failure("this is a question for a lawyer".into())
///         } else {
///             InputVerdict::Success
///         })
///     }
///
///     fn name(&self) -> &str {
///         "no_legal_advice"
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<()> {
/// check_input(&NoLegalAdvice, "Where is my parcel?").await.check_success()?;
/// check_input(&NoLegalAdvice, "Can I sue you?").await.check_rejected_because("a lawyer")?;
/// # Ok(())
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an input guardrail",
    label = "does not implement `InputGuardrail`",
    note = "`#[input_guardrails(...)]` and `.input_guardrail(...)` take values of types that implement `ai_services::guardrail::InputGuardrail`"
)]
#[async_trait]
pub trait InputGuardrail: Send + Sync {
    /// Checks the message.
    ///
    /// # Errors
    ///
    /// Return an error if the check cannot be made. The call then fails (fail closed).
    async fn check(&self, request: InputGuardrailRequest<'_>) -> Result<InputVerdict>;

    /// Returns the name of the guardrail for error messages, events and traces.
    fn name(&self) -> &str;
}

forward_through_arc! {
    InputGuardrail {
        async fn check<'a, 'b>(&'a self, request: InputGuardrailRequest<'b>) -> Result<InputVerdict>;
        fn name(&self) -> &str;
    }
}
