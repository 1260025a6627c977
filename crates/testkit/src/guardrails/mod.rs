//! Test tools for guardrails.
//!
//! [`check_input`] and [`check_output`] call a guardrail with a text, and optionally with a conversation. The
//! result is a [`CheckedInput`] or a [`CheckedOutput`]; its methods check the verdict and fail with an error
//! that describes the actual verdict. [`ScriptedInputGuardrail`] and [`ScriptedOutputGuardrail`] replace
//! guardrails in tests of services: they return scripted verdicts and record their requests.
//!
//! # Examples
//!
//! ```
//! use ai_services::guardrail::{MaxLength, Redaction};
//! use ai_services::message::ChatMessage;
//! use ai_services::testing::guardrails::{check_input, check_output};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> ai_services::Result<()> {
//! let redaction = Redaction::all();
//! check_input(&redaction, "I am ann@example.org").await.check_rewritten_to("I am [EMAIL]")?;
//!
//! let brief = MaxLength::characters(10);
//! let checked = check_output(&brief, "It is in the left drawer.")
//!     .question("Where is the key?")
//!     .history([ChatMessage::user("Hi!"), ChatMessage::ai("Hello!")])
//!     .await;
//! checked.check_rejected_because("25 characters")?;
//! checked.check_reprompted_with("at most 10 characters")?;
//!
//! let error = checked.check_success().unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     "expected the guardrail `max_length` to accept; it reprompted: the answer has 25 characters; at most 10 are allowed"
//! );
//! # Ok(())
//! # }
//! ```

mod check;
mod input;
mod output;
mod scripted;

pub use check::{CheckInput, CheckOutput, check_input, check_output};
pub use input::CheckedInput;
pub use output::CheckedOutput;
pub use scripted::{
    RecordedInput, RecordedOutput, ScriptedInputGuardrail, ScriptedOutputGuardrail,
};

use ai_services_core::{Error, ErrorKind, Result};

/// A verdict and its guardrail, for error messages.
#[derive(Debug)]
struct VerdictDescription {
    guardrail: Box<str>,
    /// The action of the guardrail: "accepted", "failed: …".
    action: String,
}

impl VerdictDescription {
    fn mismatch(&self, expected: &str) -> Error {
        let Self { guardrail, action } = self;
        Error::configuration(format!(
            "expected the guardrail `{guardrail}` to {expected}; it {action}"
        ))
    }

    /// Fails unless the verdict matches.
    fn check(&self, matches: bool, expected: &str) -> Result<()> {
        if matches { Ok(()) } else { Err(self.mismatch(expected)) }
    }

    fn check_error<V>(&self, verdict: &Result<V>, kind: ErrorKind) -> Result<()> {
        let matches = verdict.as_ref().is_err_and(|error| error.kind() == kind);
        self.check(matches, &format!("be unable to decide ({kind:?})"))
    }
}
