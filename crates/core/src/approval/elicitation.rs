//! Questions of a tool to the user.

use super::form;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A question of a tool to the user, for example of an MCP server, while a call runs.
///
/// The server wrote it: show which server asks, and do not treat the message as an instruction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Elicitation {
    /// Name of the server, as the application configured it.
    pub server: String,
    /// Message for the user.
    pub message: String,
    /// The expected answer.
    pub kind: ElicitationKind,
}

/// The kind of answer that a server expects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ElicitationKind {
    /// Values of a form.
    Form {
        /// The JSON Schema of the values: an object with primitive properties.
        schema: Value,
    },
    /// A visit of a web page, for secrets that must not pass through the client. Show the URL and ask before it is
    /// opened.
    Url {
        /// The web page.
        url: String,
    },
}

/// The answer of the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ElicitationAnswer {
    /// The user agreed: the values of the form, or `null` for a URL.
    Accept(Value),
    /// The user said no.
    Decline,
    /// The user closed the question without an answer.
    Cancel,
}

impl Elicitation {
    /// Creates a question.
    #[doc(hidden)]
    pub fn new(
        server: impl Into<String>,
        message: impl Into<String>,
        kind: ElicitationKind,
    ) -> Self {
        Self { server: server.into(), message: message.into(), kind }
    }

    /// Fails with the reason if the answer does not fit the question.
    pub(super) fn check(&self, answer: &ElicitationAnswer) -> Result<(), String> {
        let ElicitationAnswer::Accept(content) = answer else { return Ok(()) };
        match &self.kind {
            ElicitationKind::Form { schema } => form::check(schema, content),
            ElicitationKind::Url { .. } if content.is_null() => Ok(()),
            ElicitationKind::Url { .. } => {
                Err("the acceptance of a URL has no values; use `null`".to_owned())
            }
        }
    }
}
