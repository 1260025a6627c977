//! The result of calling an input guardrail in a test.

use super::VerdictDescription;
use ai_services_core::guardrail::InputVerdict;
use ai_services_core::{ErrorKind, Result};

/// The verdict of an input guardrail on a message; see [`check_input`](super::check_input).
///
/// Every `check_…` method fails with an error that describes the actual verdict.
#[derive(Debug)]
#[must_use = "nothing is checked until one of its methods is called"]
pub struct CheckedInput {
    verdict: Result<InputVerdict>,
    description: VerdictDescription,
}

impl CheckedInput {
    pub(super) fn new(guardrail: &str, verdict: Result<InputVerdict>) -> Self {
        let action = match &verdict {
            Ok(InputVerdict::Success) => "accepted".to_owned(),
            Ok(InputVerdict::Rewrite(message)) => {
                format!("rewrote it to `{}`", message.joined_text().unwrap_or_default())
            }
            Ok(InputVerdict::Failure(reason)) => format!("failed: {reason}"),
            Ok(InputVerdict::Fatal(reason)) => format!("failed fatally: {reason}"),
            Err(error) => format!("was unable to decide ({:?}): {error}", error.kind()),
        };
        let description = VerdictDescription { guardrail: guardrail.into(), action };
        Self { verdict, description }
    }

    /// Returns the verdict, or the error of the guardrail.
    pub fn verdict(&self) -> &Result<InputVerdict> {
        &self.verdict
    }

    /// Checks that the guardrail accepted the message unchanged.
    ///
    /// # Errors
    ///
    /// Returns an error that describes the actual verdict otherwise.
    pub fn check_success(&self) -> Result<()> {
        self.description.check(matches!(self.verdict, Ok(InputVerdict::Success)), "accept")
    }

    /// Checks that the guardrail rewrote the message. `text` is the new text, with parts joined by line
    /// breaks.
    ///
    /// # Errors
    ///
    /// Returns an error that describes the actual verdict otherwise.
    pub fn check_rewritten_to(&self, text: &str) -> Result<()> {
        let matches = matches!(&self.verdict, Ok(InputVerdict::Rewrite(message))
            if message.joined_text().unwrap_or_default() == text);
        self.description.check(matches, &format!("rewrite it to `{text}`"))
    }

    /// Checks that the guardrail rejected the message, fatally or not, for a reason that contains this text.
    ///
    /// # Errors
    ///
    /// Returns an error that describes the actual verdict otherwise.
    pub fn check_rejected_because(&self, reason: &str) -> Result<()> {
        let matches = matches!(&self.verdict, Ok(InputVerdict::Failure(own) | InputVerdict::Fatal(own))
            if own.contains(reason));
        self.description.check(matches, &format!("reject it because of `{reason}`"))
    }

    /// Checks that the guardrail rejected the message fatally, for a reason that contains this text.
    ///
    /// # Errors
    ///
    /// Returns an error that describes the actual verdict otherwise.
    pub fn check_fatal_because(&self, reason: &str) -> Result<()> {
        let matches = matches!(&self.verdict, Ok(InputVerdict::Fatal(own)) if own.contains(reason));
        self.description.check(matches, &format!("reject it fatally because of `{reason}`"))
    }

    /// Checks that the guardrail failed to decide, with an error of this kind.
    ///
    /// # Errors
    ///
    /// Returns an error that describes the actual verdict otherwise.
    pub fn check_error(&self, kind: ErrorKind) -> Result<()> {
        self.description.check_error(&self.verdict, kind)
    }
}
