//! A turn with an accepted answer.

use crate::model::ChatResponse;
use crate::service::rejected_answer::RejectedAnswer;
use crate::service::spent::Spent;
use crate::service::unfinished_turn::UnfinishedTurn;
use crate::tool::ToolExecution;

/// Responses as they arrived, in boxes: when the list grows, pointers are moved, not 208 bytes each.
#[allow(clippy::vec_box, reason = "the responses arrive in boxes")]
pub(crate) type BoxedResponses = Vec<Box<ChatResponse>>;

/// A turn with an accepted answer.
#[derive(Debug)]
pub(crate) struct FinishedTurn {
    pub(crate) spent: Spent,
    pub(crate) executions: Vec<ToolExecution>,
    pub(crate) intermediate: BoxedResponses,
    pub(crate) rejected: Vec<RejectedAnswer>,
    pub(crate) answer: Box<ChatResponse>,
}

impl FinishedTurn {
    /// Returns the report of a turn that could not be committed.
    pub(crate) fn into_unfinished(self) -> UnfinishedTurn {
        let Self { executions, intermediate, rejected, answer, .. } = self;
        UnfinishedTurn::new(executions, unboxed(intermediate), rejected, Some(*answer))
    }
}

/// Returns the responses for the application.
pub(crate) fn unboxed(responses: BoxedResponses) -> Vec<ChatResponse> {
    responses.into_iter().map(|response| *response).collect()
}
