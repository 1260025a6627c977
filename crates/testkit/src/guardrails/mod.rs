//! Tests of guardrails: one call asks a guardrail, one more says what it should have thought.
//!
//! [`check_input`] and [`check_output`] ask a guardrail about a text, with a conversation around it if
//! need be. What it thinks is a [`CheckedInput`] or a [`CheckedOutput`], whose methods are errors that
//! say what was thought instead. [`ScriptedInputGuardrail`] and [`ScriptedOutputGuardrail`] stand for
//! guardrails in tests of services: they think what they are told to, and record what they were asked.
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
//!     "expected the guardrail `max_length` to accept; it asked again: the answer has 25 characters; at most 10 are allowed"
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

/// What was thought, and by whom.
#[derive(Debug)]
struct Thought {
    guardrail: Box<str>,
    /// What it did, for messages: "accepted", "failed: …".
    did: String,
}

impl Thought {
    fn other_than(&self, expected: &str) -> Error {
        let Self { guardrail, did } = self;
        Error::configuration(format!(
            "expected the guardrail `{guardrail}` to {expected}; it {did}"
        ))
    }

    /// Fails unless it is so.
    fn check(&self, is_so: bool, expected: &str) -> Result<()> {
        if is_so { Ok(()) } else { Err(self.other_than(expected)) }
    }

    fn check_error<V>(&self, verdict: &Result<V>, kind: ErrorKind) -> Result<()> {
        let is_so = verdict.as_ref().is_err_and(|error| error.kind() == kind);
        self.check(is_so, &format!("be unable to decide ({kind:?})"))
    }
}
