//! What an output guardrail thought.

use super::Thought;
use ai_services_core::guardrail::OutputVerdict;
use ai_services_core::{ErrorKind, Result};

/// What an output guardrail thought of an answer; see [`check_output`](super::check_output).
///
/// Every `check_…` is an error that says what was thought instead.
#[derive(Debug)]
#[must_use = "nothing is checked until one of its methods is called"]
pub struct CheckedOutput {
    verdict: Result<OutputVerdict>,
    thought: Thought,
}

impl CheckedOutput {
    pub(super) fn new(guardrail: &str, verdict: Result<OutputVerdict>) -> Self {
        let did = match &verdict {
            Ok(OutputVerdict::Success) => "accepted".to_owned(),
            Ok(OutputVerdict::Rewrite(text)) => format!("rewrote it to `{text}`"),
            Ok(OutputVerdict::Retry(reason)) => format!("asked the same again: {reason}"),
            Ok(OutputVerdict::Reprompt { reason, .. }) => format!("asked again: {reason}"),
            Ok(OutputVerdict::Failure(reason)) => format!("failed: {reason}"),
            Ok(OutputVerdict::Fatal(reason)) => format!("failed at once: {reason}"),
            Err(error) => format!("was unable to decide ({:?}): {error}", error.kind()),
        };
        Self { verdict, thought: Thought { guardrail: guardrail.into(), did } }
    }

    /// What it thought, or why it could not.
    pub fn verdict(&self) -> &Result<OutputVerdict> {
        &self.verdict
    }

    /// Checks that it had nothing to object to and to change.
    ///
    /// # Errors
    ///
    /// If not.
    pub fn check_success(&self) -> Result<()> {
        self.thought.check(matches!(self.verdict, Ok(OutputVerdict::Success)), "accept")
    }

    /// Checks that it rewrote the answer to this.
    ///
    /// # Errors
    ///
    /// If not.
    pub fn check_rewritten_to(&self, text: &str) -> Result<()> {
        let is_so = matches!(&self.verdict, Ok(OutputVerdict::Rewrite(own)) if **own == *text);
        self.thought.check(is_so, &format!("rewrite it to `{text}`"))
    }

    /// Checks that it rejected the answer, whatever is done about it, for a reason that contains this.
    ///
    /// # Errors
    ///
    /// If not.
    pub fn check_rejected_because(&self, reason: &str) -> Result<()> {
        let is_so = match &self.verdict {
            Ok(OutputVerdict::Success | OutputVerdict::Rewrite(_)) | Err(_) => false,
            Ok(
                OutputVerdict::Retry(why)
                | OutputVerdict::Reprompt { reason: why, .. }
                | OutputVerdict::Failure(why)
                | OutputVerdict::Fatal(why),
            ) => why.contains(reason),
        };
        self.thought.check(is_so, &format!("reject it because of `{reason}`"))
    }

    /// Checks that the model would be asked the same again, for a reason that contains this.
    ///
    /// # Errors
    ///
    /// If not.
    pub fn check_retried_because(&self, reason: &str) -> Result<()> {
        let is_so = matches!(&self.verdict, Ok(OutputVerdict::Retry(why)) if why.contains(reason));
        self.thought.check(is_so, &format!("ask the same again because of `{reason}`"))
    }

    /// Checks that the model would be asked again, and told something that contains this.
    ///
    /// # Errors
    ///
    /// If not.
    pub fn check_reprompted_with(&self, prompt: &str) -> Result<()> {
        let is_so = matches!(&self.verdict, Ok(OutputVerdict::Reprompt { prompt: own, .. })
            if own.contains(prompt));
        self.thought.check(is_so, &format!("ask again with `{prompt}`"))
    }

    /// Checks that it rejected the answer at once, for a reason that contains this.
    ///
    /// # Errors
    ///
    /// If not.
    pub fn check_fatal_because(&self, reason: &str) -> Result<()> {
        let is_so = matches!(&self.verdict, Ok(OutputVerdict::Fatal(why)) if why.contains(reason));
        self.thought.check(is_so, &format!("reject it at once because of `{reason}`"))
    }

    /// Checks that it could not decide, by an error of this kind.
    ///
    /// # Errors
    ///
    /// If not.
    pub fn check_error(&self, kind: ErrorKind) -> Result<()> {
        self.thought.check_error(&self.verdict, kind)
    }
}
