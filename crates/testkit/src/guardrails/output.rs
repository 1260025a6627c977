//! The result of calling an output guardrail in a test.

use super::VerdictDescription;
use ai_services_core::guardrail::OutputVerdict;
use ai_services_core::{ErrorKind, Result};

/// The verdict of an output guardrail on an answer; see [`check_output`](super::check_output).
///
/// Every `check_…` method fails with an error that describes the actual verdict.
#[derive(Debug)]
#[must_use = "nothing is checked until one of its methods is called"]
pub struct CheckedOutput {
    verdict: Result<OutputVerdict>,
    description: VerdictDescription,
}

impl CheckedOutput {
    pub(super) fn new(guardrail: &str, verdict: Result<OutputVerdict>) -> Self {
        let action = match &verdict {
            Ok(OutputVerdict::Success) => "accepted".to_owned(),
            Ok(OutputVerdict::Rewrite(text)) => format!("rewrote it to `{text}`"),
            Ok(OutputVerdict::Retry(reason)) => format!("retried: {reason}"),
            Ok(OutputVerdict::Reprompt { reason, .. }) => format!("reprompted: {reason}"),
            Ok(OutputVerdict::Failure(reason)) => format!("failed: {reason}"),
            Ok(OutputVerdict::Fatal(reason)) => format!("failed fatally: {reason}"),
            Err(error) => format!("was unable to decide ({:?}): {error}", error.kind()),
        };
        let description = VerdictDescription { guardrail: guardrail.into(), action };
        Self { verdict, description }
    }

    /// Returns the verdict, or the error of the guardrail.
    pub fn verdict(&self) -> &Result<OutputVerdict> {
        &self.verdict
    }

    /// Checks that the guardrail accepted the answer unchanged.
    ///
    /// # Errors
    ///
    /// Returns an error that describes the actual verdict otherwise.
    pub fn check_success(&self) -> Result<()> {
        self.description.check(matches!(self.verdict, Ok(OutputVerdict::Success)), "accept")
    }

    /// Checks that the guardrail rewrote the answer to this text.
    ///
    /// # Errors
    ///
    /// Returns an error that describes the actual verdict otherwise.
    pub fn check_rewritten_to(&self, text: &str) -> Result<()> {
        let matches = matches!(&self.verdict, Ok(OutputVerdict::Rewrite(own)) if **own == *text);
        self.description.check(matches, &format!("rewrite it to `{text}`"))
    }

    /// Checks that the guardrail rejected the answer in any way (retry, reprompt, failure or fatal), for a
    /// reason that contains this text.
    ///
    /// # Errors
    ///
    /// Returns an error that describes the actual verdict otherwise.
    pub fn check_rejected_because(&self, reason: &str) -> Result<()> {
        let matches = match &self.verdict {
            Ok(OutputVerdict::Success | OutputVerdict::Rewrite(_)) | Err(_) => false,
            Ok(
                OutputVerdict::Retry(own)
                | OutputVerdict::Reprompt { reason: own, .. }
                | OutputVerdict::Failure(own)
                | OutputVerdict::Fatal(own),
            ) => own.contains(reason),
        };
        self.description.check(matches, &format!("reject it because of `{reason}`"))
    }

    /// Checks that the guardrail requested a retry, for a reason that contains this text.
    ///
    /// # Errors
    ///
    /// Returns an error that describes the actual verdict otherwise.
    pub fn check_retried_because(&self, reason: &str) -> Result<()> {
        let matches =
            matches!(&self.verdict, Ok(OutputVerdict::Retry(own)) if own.contains(reason));
        self.description.check(matches, &format!("retry because of `{reason}`"))
    }

    /// Checks that the guardrail requested a reprompt, with a prompt that contains this text.
    ///
    /// # Errors
    ///
    /// Returns an error that describes the actual verdict otherwise.
    pub fn check_reprompted_with(&self, prompt: &str) -> Result<()> {
        let matches = matches!(&self.verdict, Ok(OutputVerdict::Reprompt { prompt: own, .. })
            if own.contains(prompt));
        self.description.check(matches, &format!("reprompt with `{prompt}`"))
    }

    /// Checks that the guardrail rejected the answer fatally, for a reason that contains this text.
    ///
    /// # Errors
    ///
    /// Returns an error that describes the actual verdict otherwise.
    pub fn check_fatal_because(&self, reason: &str) -> Result<()> {
        let matches =
            matches!(&self.verdict, Ok(OutputVerdict::Fatal(own)) if own.contains(reason));
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
