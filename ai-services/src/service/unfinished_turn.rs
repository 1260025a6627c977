//! The report of a turn that failed late.

use crate::model::ChatResponse;
use crate::tool::ToolExecution;
use crate::{BoxError, Error};
use ai_services_core::answer::RejectedAnswer;
use std::fmt;

/// The work of a turn before it failed.
///
/// A [detail](Error::detail) of every error that occurs after tools ran or after the answer arrived.
/// The memory is unchanged, unless the kind of the error is
/// [`ErrorKind::UnknownOutcome`](crate::ErrorKind::UnknownOutcome). The effects of the tools remain.
///
/// # Examples
///
/// ```
/// use ai_services::UnfinishedTurn;
///
/// fn report(error: &ai_services::Error) {
///     if let Some(turn) = error.detail::<UnfinishedTurn>() {
///         eprintln!("{} tools ran", turn.tool_executions.len());
///     }
/// }
/// # let _ = report;
/// ```
#[non_exhaustive]
pub struct UnfinishedTurn {
    /// The tool calls that ran.
    pub tool_executions: Vec<ToolExecution>,
    /// The responses of the model that called these tools.
    pub intermediate_responses: Vec<ChatResponse>,
    /// The answers before the last one that could not be parsed, or that output guardrails rejected.
    pub rejected_answers: Vec<RejectedAnswer>,
    /// The final answer, if it had arrived.
    pub answer: Option<ChatResponse>,
    source: Option<BoxError>,
}

impl UnfinishedTurn {
    pub(super) fn new(
        tool_executions: Vec<ToolExecution>,
        intermediate_responses: Vec<ChatResponse>,
        rejected_answers: Vec<RejectedAnswer>,
        answer: Option<ChatResponse>,
    ) -> Self {
        Self { tool_executions, intermediate_responses, rejected_answers, answer, source: None }
    }

    /// Returns the error with this report in its chain of sources, or unchanged if the report is empty.
    pub(super) fn attach_to(mut self, error: Error) -> Error {
        let is_empty = self.tool_executions.is_empty()
            && self.rejected_answers.is_empty()
            && self.answer.is_none();
        if is_empty {
            return error;
        }
        error.map_source(|source| {
            self.source = source;
            self.into()
        })
    }
}

impl fmt::Display for UnfinishedTurn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tools = match self.tool_executions.len() {
            1 => "1 tool ran".to_owned(),
            tools => format!("{tools} tools ran"),
        };
        match self.answer {
            Some(_) => write!(f, "{tools}, and the final answer had arrived"),
            None => write!(f, "{tools}, but no final answer arrived"),
        }
    }
}

/// Prints numbers only: errors are logged with all their sources, and messages are confidential.
impl fmt::Debug for UnfinishedTurn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnfinishedTurn")
            .field("tool_executions", &self.tool_executions.len())
            .field("intermediate_responses", &self.intermediate_responses.len())
            .field("rejected_answers", &self.rejected_answers.len())
            .field("has_answer", &self.answer.is_some())
            .field("source", &self.source)
            .finish()
    }
}

impl std::error::Error for UnfinishedTurn {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}
