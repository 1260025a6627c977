//! The reaction of built-in guardrails to a rejected text.

use super::{InputVerdict, OutputVerdict};

/// The reaction of a built-in guardrail to a text that it rejects.
///
/// A user message cannot be requested again: for input guardrails, [`Reprompt`](Self::Reprompt) and
/// [`Retry`](Self::Retry) are treated like [`Fail`](Self::Fail).
///
/// # Examples
///
/// ```
/// use ai_services::guardrail::{MaxLength, OnRejection};
/// use ai_services::testing::guardrails::check_output;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> ai_services::Result<()> {
/// let brief = MaxLength::characters(10).on_rejection(OnRejection::Retry);
/// check_output(&brief, "Once upon a time.").await.check_retried_because("17 characters")?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnRejection {
    /// The model is prompted again, with a description of the mistake.
    #[default]
    Reprompt,
    /// The model is called again with the same messages.
    Retry,
    /// The call fails. Later guardrails still run, and the error lists all reasons.
    Fail,
    /// The call fails at once. Later guardrails do not run.
    FailFast,
}

impl OnRejection {
    /// Returns the verdict of an input guardrail.
    #[doc(hidden)]
    pub fn input(self, reason: String) -> InputVerdict {
        match self {
            Self::Reprompt | Self::Retry | Self::Fail => InputVerdict::Failure(reason.into()),
            Self::FailFast => InputVerdict::Fatal(reason.into()),
        }
    }

    /// Returns the verdict of an output guardrail.
    #[doc(hidden)]
    pub fn output(self, reason: String, prompt: impl FnOnce() -> String) -> OutputVerdict {
        let reason = reason.into_boxed_str();
        match self {
            Self::Reprompt => OutputVerdict::Reprompt { reason, prompt: prompt().into() },
            Self::Retry => OutputVerdict::Retry(reason),
            Self::Fail => OutputVerdict::Failure(reason),
            Self::FailFast => OutputVerdict::Fatal(reason),
        }
    }
}
