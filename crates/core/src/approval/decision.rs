//! The decision about a tool call.

use super::elicitation::ElicitationAnswer;
use crate::message::{ToolCall, ToolResult};
use serde::{Deserialize, Serialize};

/// The decision about one tool call that waits.
///
/// # Examples
///
/// ```
/// use ai_services::approval::Decision;
///
/// let decision = Decision::deny("the order was already refunded");
/// assert_eq!(serde_json::to_string(&decision)?, r#"{"deny":"the order was already refunded"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// The tool runs with the arguments of the model.
    Approve,
    /// The tool does not run. The model gets the reason.
    Deny(String),
    /// The tool runs with these arguments, a JSON object, instead of those of the model. The model gets the result
    /// and, behind it, a note with the edited arguments. Arguments that do not match the parameters of the tool are
    /// an error result.
    Edit(String),
    /// The tool does not run. The model gets this text as its result.
    Answer(String),
    /// The call goes on with the answers to its questions, one for each, in their order. The only decision about a
    /// call that waits for [answers](super::WaitsFor::Answers), and for no other call.
    Respond(Vec<ElicitationAnswer>),
}

impl Decision {
    /// Creates a denial. The model gets the reason.
    #[must_use]
    pub fn deny(reason: impl Into<String>) -> Self {
        Self::Deny(reason.into())
    }

    /// Returns the call that runs, if there is one.
    pub(crate) fn approved(&self, call: &ToolCall) -> Option<ToolCall> {
        match self {
            Self::Approve | Self::Respond(_) => Some(call.clone()),
            Self::Edit(arguments) => {
                Some(ToolCall::new(call.id(), call.name(), arguments.as_str()))
            }
            Self::Deny(_) | Self::Answer(_) => None,
        }
    }

    /// Returns the result of a call that does not run.
    pub(crate) fn result(&self, call: &ToolCall) -> Option<ToolResult> {
        let result = |text: &str| ToolResult::new(call.id(), call.name(), text);
        match self {
            Self::Approve | Self::Edit(_) | Self::Respond(_) => None,
            Self::Deny(reason) => {
                Some(result(&format!("the call was denied: {reason}")).into_error())
            }
            Self::Answer(text) => Some(result(text)),
        }
    }
}

/// The entry of a journal with the decisions about the calls of its last [`Waiting`](super::Waiting) entry.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decided {
    /// The decisions, in the order of the waiting calls.
    pub decisions: Vec<Decision>,
    /// The time in milliseconds since 1970.
    pub at: u64,
}
