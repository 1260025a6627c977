//! A turn with an accepted answer.

use crate::model::ChatResponse;
use crate::service::rejected_answer::RejectedAnswer;
use crate::service::spent::Spent;
use crate::service::unfinished_turn::UnfinishedTurn;
use crate::tool::ToolExecution;

/// A turn with an accepted answer.
#[derive(Debug)]
pub(crate) struct FinishedTurn {
    pub(crate) spent: Spent,
    pub(crate) executions: Vec<ToolExecution>,
    pub(crate) intermediate: Vec<ChatResponse>,
    pub(crate) rejected: Vec<RejectedAnswer>,
    pub(crate) answer: Box<ChatResponse>,
}

impl FinishedTurn {
    /// Returns the report of a turn that could not be committed.
    pub(crate) fn into_unfinished(self) -> UnfinishedTurn {
        let Self { executions, intermediate, rejected, answer, .. } = self;
        UnfinishedTurn::new(executions, intermediate, rejected, Some(*answer))
    }
}
