//! The outcome of a turn that was resumed without its caller.

use super::response::Reply;
use super::turn::FinishedTurn;
use crate::Result;
use crate::memory::{MemoryId, RequestId, TurnId};
use crate::message::AiMessage;
use crate::model::{ChatResponse, Cost, TokenUsage};
use crate::output::Shape;
use crate::rag::RetrievedContent;
use ai_services_core::answer::Response;

/// A turn that was resumed and stored, without its caller.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ResumedTurn {
    /// Id of the conversation.
    pub memory_id: MemoryId,
    /// The turn.
    pub turn: TurnId,
    /// Name of the method that began the turn.
    pub method: String,
    /// Id of the application's request that began the turn, if it had one.
    pub request: Option<RequestId>,
    /// The answer, which is a value of the method's type, with the tools and the usage of the turn. The usage
    /// includes the answers that were recorded before.
    pub response: Response<AiMessage>,
}

impl ResumedTurn {
    /// Returns the response with the text of the answer as its value.
    pub(super) fn into_text_response(self) -> Response<String> {
        let text = self.response.value.text().unwrap_or_default().to_owned();
        let mut response = Response::new(text, self.response.final_response);
        response.token_usage = self.response.token_usage;
        response.cost = self.response.cost;
        response.tool_executions = self.response.tool_executions;
        response.intermediate_responses = self.response.intermediate_responses;
        response.rejected_answers = self.response.rejected_answers;
        response.sources = self.response.sources;
        response
    }
}

/// The reply of a turn without a caller.
pub(super) struct ResumedReply {
    check: fn(&ChatResponse, &Shape) -> Result<()>,
    response: Option<Box<Response<AiMessage>>>,
}

impl ResumedReply {
    /// Creates the reply of a turn whose answers have to pass `check`.
    pub(super) fn new(check: fn(&ChatResponse, &Shape) -> Result<()>) -> Self {
        Self { check, response: None }
    }

    /// Returns the response of a turn that was stored.
    pub(super) fn into_response(self) -> Option<Response<AiMessage>> {
        self.response.map(|response| *response)
    }
}

impl Reply for ResumedReply {
    fn read(&mut self, answer: &ChatResponse, shape: &Shape) -> Result<()> {
        (self.check)(answer, shape)
    }

    fn complete(&mut self, turn: FinishedTurn, sources: Vec<RetrievedContent>) {
        let message = turn.answer.message.clone();
        self.response = Some(Box::new(turn.into_response(message, sources)));
    }

    fn usage(&self) -> TokenUsage {
        self.response.as_ref().map(|response| response.token_usage).unwrap_or_default()
    }

    fn cost(&self) -> Option<Cost> {
        self.response.as_ref()?.cost
    }
}
