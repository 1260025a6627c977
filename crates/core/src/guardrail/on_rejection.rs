//! What becomes of an answer that a built-in guardrail rejects.

use super::{InputVerdict, OutputVerdict};

/// What a built-in guardrail does with what it rejects.
///
/// What a user said cannot be asked for again: there, [`Reprompt`](Self::Reprompt) and
/// [`Retry`](Self::Retry) are as [`Fail`](Self::Fail).
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
    /// The model is asked again, and told what was wrong.
    #[default]
    Reprompt,
    /// The model is asked the same again.
    Retry,
    /// The call fails. Later guardrails are asked nevertheless, and all reasons told.
    Fail,
    /// The call fails at once.
    FailAtOnce,
}

impl OnRejection {
    pub fn input(self, reason: String) -> InputVerdict {
        match self {
            Self::Reprompt | Self::Retry | Self::Fail => InputVerdict::Failure(reason.into()),
            Self::FailAtOnce => InputVerdict::Fatal(reason.into()),
        }
    }

    pub fn output(self, reason: String, prompt: impl FnOnce() -> String) -> OutputVerdict {
        let reason = reason.into_boxed_str();
        match self {
            Self::Reprompt => OutputVerdict::Reprompt { reason, prompt: prompt().into() },
            Self::Retry => OutputVerdict::Retry(reason),
            Self::Fail => OutputVerdict::Failure(reason),
            Self::FailAtOnce => OutputVerdict::Fatal(reason),
        }
    }
}
