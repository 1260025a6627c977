//! Guardrails that check the answers of models.

use crate::document::TextSegment;
use crate::error::Result;
use crate::forward::forward_through_arc;
use crate::invocation::TurnContext;
use crate::model::ChatResponse;
use async_trait::async_trait;

/// The data that an output guardrail checks.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct OutputGuardrailRequest<'a> {
    /// The answer, as rewritten by the guardrails before this one.
    pub response: &'a ChatResponse,
    /// The retrieved texts that were sent to the model.
    pub contents: &'a [TextSegment],
    /// The turn: the memory id, the earlier messages, and the user message as rewritten by the input
    /// guardrails.
    pub turn: &'a TurnContext,
    /// Number of answers of this turn that were rejected before.
    pub rejected: u32,
}

impl<'a> OutputGuardrailRequest<'a> {
    /// Creates a request without retrieved texts and rejected answers, for tests.
    #[must_use]
    pub fn new(response: &'a ChatResponse, turn: &'a TurnContext) -> Self {
        Self { response, contents: &[], turn, rejected: 0 }
    }

    /// Sets the retrieved texts.
    #[must_use]
    pub fn with_contents(self, contents: &'a [TextSegment]) -> Self {
        Self { contents, ..self }
    }

    /// Sets the number of answers that were rejected before.
    #[must_use]
    pub fn with_rejected(self, rejected: u32) -> Self {
        Self { rejected, ..self }
    }

    /// Returns the text of the answer. Empty if the answer has no text.
    #[must_use]
    pub fn text(&self) -> &'a str {
        self.response.message.text().unwrap_or_default()
    }
}

/// The decision of an output guardrail about an answer.
#[derive(Clone, Debug)]
pub enum OutputVerdict {
    /// The answer is accepted.
    Success,
    /// This text replaces the answer. Later guardrails check it, and it is returned and stored.
    Rewrite(Box<str>),
    /// The model is called again with the same messages, for this reason.
    Retry(Box<str>),
    /// The model is called again, with its answer and a further prompt.
    Reprompt {
        /// The reason, for errors and events.
        reason: Box<str>,
        /// The prompt after the rejected answer. If it is blank, the model is called again with the same
        /// messages.
        prompt: Box<str>,
    },
    /// The call fails with this reason. Later guardrails still run, and the error lists all reasons.
    Failure(Box<str>),
    /// The call fails with this reason at once. Later guardrails do not run.
    Fatal(Box<str>),
}

impl OutputVerdict {
    /// Returns the name for traces.
    #[doc(hidden)]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Rewrite(_) => "rewrite",
            Self::Retry(_) => "retry",
            Self::Reprompt { .. } => "reprompt",
            Self::Failure(_) => "failure",
            Self::Fatal(_) => "fatal",
        }
    }
}

/// Checks the answers of a model before they are returned.
///
/// Implementations carry `#[ai_services::async_trait]`. Without it, the compiler reports that "lifetime
/// parameters or bounds on method … do not match the trait declaration".
///
/// # Examples
///
/// ```
/// use ai_services::guardrail::{OutputGuardrail, OutputGuardrailRequest, OutputVerdict};
/// use ai_services::testing::guardrails::check_output;
/// use ai_services::{Result, async_trait};
///
/// /// Rejects answers that name no sources.
/// struct Sourced;
///
/// #[async_trait]
/// impl OutputGuardrail for Sourced {
///     async fn check(&self, request: OutputGuardrailRequest<'_>) -> Result<OutputVerdict> {
///         Ok(if request.text().contains('[') {
///             OutputVerdict::Success
///         } else {
///             OutputVerdict::Reprompt {
///                 reason: "no source is named".into(),
///                 prompt: "Name your sources, for example [1].".into(),
///             }
///         })
///     }
///
///     fn name(&self) -> &str {
///         "sourced"
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<()> {
/// check_output(&Sourced, "Bananas are berries [1].").await.check_success()?;
/// let checked = check_output(&Sourced, "Bananas are berries.").await;
/// checked.check_reprompted_with("Name your sources")?;
/// # Ok(())
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an output guardrail",
    label = "does not implement `OutputGuardrail`",
    note = "`#[output_guardrails(...)]` and `.output_guardrail(...)` take values of types that implement `ai_services::guardrail::OutputGuardrail`"
)]
#[async_trait]
pub trait OutputGuardrail: Send + Sync {
    /// Checks the answer.
    ///
    /// # Errors
    ///
    /// Return an error if the check cannot be made. The call then fails (fail closed).
    async fn check(&self, request: OutputGuardrailRequest<'_>) -> Result<OutputVerdict>;

    /// Returns the name of the guardrail for error messages, events and traces.
    fn name(&self) -> &str;
}

forward_through_arc! {
    OutputGuardrail {
        async fn check<'a, 'b>(&'a self, request: OutputGuardrailRequest<'b>) -> Result<OutputVerdict>;
        fn name(&self) -> &str;
    }
}
