//! A turn with an accepted answer.

use crate::model::ChatResponse;
use crate::rag::RetrievedContent;
use crate::service::spent::Spent;
use crate::service::unfinished_turn::UnfinishedTurn;
use crate::tool::ToolExecution;
use ai_services_core::answer::{RejectedAnswer, Response};

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

    /// Returns the response with the report of the turn.
    pub(crate) fn into_response<T>(self, value: T, sources: Vec<RetrievedContent>) -> Response<T> {
        let mut response = Response::new(value, *self.answer);
        response.token_usage = self.spent.usage;
        response.cost = self.spent.cost;
        response.tool_executions = self.executions;
        response.intermediate_responses = self.intermediate;
        response.rejected_answers = self.rejected;
        response.sources = sources;
        response
    }
}
