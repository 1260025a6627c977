//! What an input guardrail thought.

use super::Thought;
use ai_services_core::guardrail::InputVerdict;
use ai_services_core::{ErrorKind, Result};

/// What an input guardrail thought of a message; see [`check_input`](super::check_input).
///
/// Every `check_…` is an error that says what was thought instead.
#[derive(Debug)]
#[must_use = "nothing is checked until one of its methods is called"]
pub struct CheckedInput {
    verdict: Result<InputVerdict>,
    thought: Thought,
}

impl CheckedInput {
    pub(super) fn new(guardrail: &str, verdict: Result<InputVerdict>) -> Self {
        let did = match &verdict {
            Ok(InputVerdict::Success) => "accepted".to_owned(),
            Ok(InputVerdict::Rewrite(message)) => {
                format!("rewrote it to `{}`", message.joined_text().unwrap_or_default())
            }
            Ok(InputVerdict::Failure(reason)) => format!("failed: {reason}"),
            Ok(InputVerdict::Fatal(reason)) => format!("failed at once: {reason}"),
            Err(error) => format!("was unable to decide ({:?}): {error}", error.kind()),
        };
        Self { verdict, thought: Thought { guardrail: guardrail.into(), did } }
    }

    /// What it thought, or why it could not.
    pub fn verdict(&self) -> &Result<InputVerdict> {
        &self.verdict
    }

    /// Checks that it had nothing to object to and to change.
    ///
    /// # Errors
    ///
    /// If not.
    pub fn check_success(&self) -> Result<()> {
        self.thought.check(matches!(self.verdict, Ok(InputVerdict::Success)), "accept")
    }

    /// Checks that it rewrote the message, whose texts, joined by line breaks, are these.
    ///
    /// # Errors
    ///
    /// If not.
    pub fn check_rewritten_to(&self, text: &str) -> Result<()> {
        let is_so = matches!(&self.verdict, Ok(InputVerdict::Rewrite(message))
            if message.joined_text().unwrap_or_default() == text);
        self.thought.check(is_so, &format!("rewrite it to `{text}`"))
    }

    /// Checks that it rejected the message, at once or not, for a reason that contains this.
    ///
    /// # Errors
    ///
    /// If not.
    pub fn check_rejected_because(&self, reason: &str) -> Result<()> {
        let is_so = matches!(&self.verdict, Ok(InputVerdict::Failure(why) | InputVerdict::Fatal(why))
            if why.contains(reason));
        self.thought.check(is_so, &format!("reject it because of `{reason}`"))
    }

    /// Checks that it rejected the message at once, for a reason that contains this.
    ///
    /// # Errors
    ///
    /// If not.
    pub fn check_fatal_because(&self, reason: &str) -> Result<()> {
        let is_so = matches!(&self.verdict, Ok(InputVerdict::Fatal(why)) if why.contains(reason));
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
