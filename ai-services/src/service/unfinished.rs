//! The report of a turn that failed late.

use super::turn::RejectedAnswer;
use crate::error::{BoxError, Error};
use crate::invocation::ToolExecution;
use crate::model::ChatResponse;
use std::fmt;

/// What a turn had done when it failed: the [detail](Error::detail) of errors that strike after tools
/// ran or after the answer arrived.
///
/// Nothing of it is remembered; what the tools did, is done.
///
/// # Examples
///
/// ```
/// use ai_services::UnfinishedTurn;
///
/// fn report(error: &ai_services::Error) {
///     if let Some(turn) = error.detail::<UnfinishedTurn>() {
///         eprintln!("{} tools had run", turn.tool_executions.len());
///     }
/// }
/// # let _ = report;
/// ```
#[non_exhaustive]
pub struct UnfinishedTurn {
    /// The tools that ran.
    pub tool_executions: Vec<ToolExecution>,
    /// The answers that called them.
    pub intermediate_responses: Vec<ChatResponse>,
    /// The answers that could not be read as a value of the method's type, or that output guardrails
    /// rejected, before the last one.
    pub rejected_answers: Vec<RejectedAnswer>,
    /// The final answer, if it had arrived.
    pub answer: Option<ChatResponse>,
    source: Option<BoxError>,
}

impl UnfinishedTurn {
    pub(crate) fn new(
        tool_executions: Vec<ToolExecution>,
        intermediate_responses: Vec<ChatResponse>,
        rejected_answers: Vec<RejectedAnswer>,
        answer: Option<ChatResponse>,
    ) -> Self {
        Self { tool_executions, intermediate_responses, rejected_answers, answer, source: None }
    }

    /// The error with this report in its chain of sources.
    pub(crate) fn attach_to(mut self, error: Error) -> Error {
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
        let tools = self.tool_executions.len();
        let answered = if self.answer.is_some() { "was" } else { "was not" };
        write!(f, "{tools} tools had run, and the final answer {answered} there")
    }
}

/// Numbers only: errors are logged with all their sources, and what was said is content.
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
