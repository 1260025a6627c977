//! The outcome of checking an answer.

use crate::guardrail::Rejection;

/// The outcome of checking an answer. A check that fails the call is an error instead.
#[derive(Debug)]
pub(crate) enum CheckOutcome {
    Accepted,
    /// The text replaces the answer.
    Rewritten(Box<str>),
    /// The model is called again, with this prompt if there is one.
    Rejected {
        rejection: Rejection,
        prompt: Option<Box<str>>,
    },
}

/// The part of the conversation that is the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnswerSource {
    /// A message of the model.
    Message,
    /// The text next to tool calls.
    BesideToolCalls,
    /// The results of tools.
    ToolResults,
}
