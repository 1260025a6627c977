//! Checks of what a model answered.

use crate::document::TextSegment;
use crate::error::Result;
use crate::invocation::TurnContext;
use crate::model::ChatResponse;
use async_trait::async_trait;
use futures_util::future::BoxFuture;
use std::sync::Arc;

/// What an output guardrail looks at.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct OutputGuardrailRequest<'a> {
    /// The answer, as the guardrails before this one left it.
    pub response: &'a ChatResponse,
    /// What was retrieved and told to the model.
    pub contents: &'a [TextSegment],
    /// The turn: who spoke, what was said before, the message as the input guardrails left it.
    pub turn: &'a TurnContext,
    /// How many answers of this turn were rejected before.
    pub rejected: u32,
}

impl<'a> OutputGuardrailRequest<'a> {
    /// What a guardrail looks at, for tests.
    #[must_use]
    pub fn new(response: &'a ChatResponse, turn: &'a TurnContext) -> Self {
        Self { response, contents: &[], turn, rejected: 0 }
    }

    /// Adds what was retrieved.
    #[must_use]
    pub fn with_contents(self, contents: &'a [TextSegment]) -> Self {
        Self { contents, ..self }
    }

    /// Sets how many answers were rejected before.
    #[must_use]
    pub fn with_rejected(self, rejected: u32) -> Self {
        Self { rejected, ..self }
    }

    /// The text of the answer. Empty if it has none.
    #[must_use]
    pub fn text(&self) -> &'a str {
        self.response.message.text().unwrap_or_default()
    }
}

/// What an output guardrail thinks of an answer.
#[derive(Clone, Debug)]
pub enum OutputVerdict {
    /// Nothing to object to.
    Success,
    /// This text is the answer instead. It is what later guardrails see, what is returned and what is
    /// remembered.
    Rewrite(Box<str>),
    /// The model is asked the same again, for this reason.
    Retry(Box<str>),
    /// The model is asked again, and told this after its answer.
    Reprompt {
        /// Why.
        reason: Box<str>,
        /// What it is told. If it is blank, the model is asked the same again.
        prompt: Box<str>,
    },
    /// The call fails with this reason. Later guardrails are asked nevertheless, and all reasons told.
    Failure(Box<str>),
    /// The call fails with this reason at once.
    Fatal(Box<str>),
}

impl OutputVerdict {
    /// What traces call it.
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

/// Checks what a model answered before anybody sees it.
///
/// # Examples
///
/// ```
/// use ai_services::guardrail::{OutputGuardrail, OutputGuardrailRequest, OutputVerdict};
/// use ai_services::testing::guardrails::check_output;
/// use ai_services::{Result, async_trait};
///
/// /// Wants the sources of an answer named.
/// struct Sourced;
///
/// #[async_trait]
/// impl OutputGuardrail for Sourced {
///     async fn check(&self, request: OutputGuardrailRequest<'_>) -> Result<OutputVerdict> {
///         Ok(match request.text().contains('[') {
///             true => OutputVerdict::Success,
///             false => OutputVerdict::Reprompt {
///                 reason: "no source is named".into(),
///                 prompt: "Name your sources, for example [1].".into(),
///             },
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
    /// What it thinks of the answer.
    ///
    /// # Errors
    ///
    /// Whatever keeps it from deciding. The call fails then: nothing is let through unchecked.
    async fn check(&self, request: OutputGuardrailRequest<'_>) -> Result<OutputVerdict>;

    /// The name in errors, events and traces.
    fn name(&self) -> &str;
}

// The inner future is handed on as it is: an async function would put it into a second box.
impl<G: OutputGuardrail + ?Sized> OutputGuardrail for Arc<G> {
    fn check<'a, 'b, 'z>(
        &'a self,
        request: OutputGuardrailRequest<'b>,
    ) -> BoxFuture<'z, Result<OutputVerdict>>
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
