//! A turn that has its answer.

use super::RejectedAnswer;
use crate::invocation::ToolExecution;
use crate::model::ChatResponse;
use crate::rag::RetrievedContent;
use crate::service::response::Response;
use crate::service::spent::Spent;

/// A turn that has its answer.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) spent: Spent,
    pub(crate) executions: Vec<ToolExecution>,
    pub(crate) intermediate: Vec<ChatResponse>,
    pub(crate) rejected: Vec<RejectedAnswer>,
    pub(crate) sources: Vec<RetrievedContent>,
    pub(crate) answer: ChatResponse,
}

impl Finished {
    /// The method's value with everything that it took.
    pub(crate) fn into_response<T>(self, value: T) -> Response<T> {
        Response {
            value,
            token_usage: self.spent.usage,
            cost: self.spent.cost,
            finish_reason: self.answer.finish_reason.clone(),
            tool_executions: self.executions,
            intermediate_responses: self.intermediate,
            rejected_answers: self.rejected,
            sources: self.sources,
            final_response: self.answer,
        }
    }
}
