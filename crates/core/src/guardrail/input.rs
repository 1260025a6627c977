//! Checks of what the user said.

use crate::document::TextSegment;
use crate::error::Result;
use crate::invocation::TurnContext;
use crate::message::UserMessage;
use async_trait::async_trait;
use futures_util::future::BoxFuture;
use std::borrow::Cow;
use std::sync::Arc;

/// What an input guardrail looks at.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct InputGuardrailRequest<'a> {
    /// What the user said, as the guardrails before this one left it, and without what was retrieved.
    pub user_message: &'a UserMessage,
    /// What was retrieved and will be told to the model.
    pub contents: &'a [TextSegment],
    /// The turn: who speaks, what was said before, the message as it was written.
    pub turn: &'a TurnContext,
}

impl<'a> InputGuardrailRequest<'a> {
    /// What a guardrail looks at, for tests.
    #[must_use]
    pub fn new(user_message: &'a UserMessage, turn: &'a TurnContext) -> Self {
        Self { user_message, contents: &[], turn }
    }

    /// Adds what was retrieved.
    #[must_use]
    pub fn with_contents(self, contents: &'a [TextSegment]) -> Self {
        Self { contents, ..self }
    }

    /// All texts of the message, joined by line breaks. Empty if it has none.
    #[must_use]
    pub fn text(&self) -> Cow<'a, str> {
        self.user_message.joined_text().unwrap_or_default()
    }
}

/// What an input guardrail thinks of a message.
#[derive(Clone, Debug)]
pub enum InputVerdict {
    /// Nothing to object to.
    Success,
    /// This is said instead. It is what later guardrails see, what is sent and what is remembered.
    Rewrite(UserMessage),
    /// The call fails with this reason. Later guardrails are asked nevertheless, and all reasons told.
    Failure(Box<str>),
    /// The call fails with this reason at once.
    Fatal(Box<str>),
}

impl InputVerdict {
    /// What traces call it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Rewrite(_) => "rewrite",
            Self::Failure(_) => "failure",
            Self::Fatal(_) => "fatal",
        }
    }
}

/// Checks what the user said before a model sees it.
///
/// # Examples
///
/// ```
/// use ai_services::guardrail::{InputGuardrail, InputGuardrailRequest, InputVerdict};
/// use ai_services::testing::guardrails::check_input;
/// use ai_services::{Result, async_trait};
///
/// /// Leaves questions about law to lawyers.
/// struct NoLegalAdvice;
///
/// #[async_trait]
/// impl InputGuardrail for NoLegalAdvice {
///     async fn check(&self, request: InputGuardrailRequest<'_>) -> Result<InputVerdict> {
///         Ok(match request.text().contains("sue") {
///             true => InputVerdict::Failure("this is a question for a lawyer".into()),
///             false => InputVerdict::Success,
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
    /// What it thinks of the message.
    ///
    /// # Errors
    ///
    /// Whatever keeps it from deciding. The call fails then: nothing is let through unchecked.
    async fn check(&self, request: InputGuardrailRequest<'_>) -> Result<InputVerdict>;

    /// The name in errors, events and traces.
    fn name(&self) -> &str;
}

// The inner future is handed on as it is: an async function would put it into a second box.
impl<G: InputGuardrail + ?Sized> InputGuardrail for Arc<G> {
    fn check<'a, 'b, 'z>(
        &'a self,
        request: InputGuardrailRequest<'b>,
    ) -> BoxFuture<'z, Result<InputVerdict>>
    where
        'a: 'z,
        'b: 'z,
        Self: 'z,
    {
        G::check(self, request)
    }

    fn name(&self) -> &str {
        G::name(self)
    }
}
