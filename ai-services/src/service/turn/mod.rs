//! One turn: the user's message, the model's calls of tools, the answer.
//!
//! The turn decides and never waits: it says what to do next and is told how that went. Whoever
//! drives it does the asking and the running, so that there is one loop however the answer arrives.

use crate::error::{Error, ErrorKind, Result};
use crate::invocation::ToolExecution;
use crate::message::{AiMessage, Content, ToolCall};
use crate::model::{ChatRequest, ChatResponse, FinishReason, TokenUsage, ToolChoice};
use crate::service::response::Response;
use crate::service::unfinished::UnfinishedTurn;
use std::sync::Arc;

/// How far a turn may go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Answers with tool calls in one turn.
    pub(crate) tool_rounds: usize,
    /// Tool calls in one answer.
    pub(crate) calls_per_answer: usize,
    /// Bytes of the arguments of one call.
    pub(crate) argument_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { tool_rounds: 32, calls_per_answer: 128, argument_bytes: 1024 * 1024 }
    }
}

/// What to do next.
#[derive(Debug)]
pub(crate) enum Step {
    /// Send [`Turn::request`].
    AskModel,
    /// Run the calls of this message.
    RunTools(AiMessage),
    /// The answer is there.
    Finish,
}

/// A turn under way.
#[derive(Debug)]
pub(crate) struct Turn {
    request: ChatRequest,
    limits: Limits,
    state: State,
    rounds: usize,
    usage: TokenUsage,
    executions: Vec<ToolExecution>,
    intermediate: Vec<ChatResponse>,
}

#[derive(Debug)]
enum State {
    Asking,
    Calling(AiMessage),
    Answered(ChatResponse),
}

impl Turn {
    /// A turn that starts with `request`; `spent` was spent on it before.
    pub(crate) fn new(request: ChatRequest, limits: Limits, spent: TokenUsage) -> Self {
        Self {
            request,
            limits,
            state: State::Asking,
            rounds: 0,
            usage: spent,
            executions: Vec::new(),
            intermediate: Vec::new(),
        }
    }

    /// The request to send next.
    pub(crate) fn request(&self) -> &ChatRequest {
        &self.request
    }

    /// The request to send next, to be fitted into a window.
    pub(crate) fn request_mut(&mut self) -> &mut ChatRequest {
        &mut self.request
    }

    /// The tokens spent so far.
    pub(crate) fn usage(&self) -> TokenUsage {
        self.usage
    }

    /// Whether a tool has run.
    pub(crate) fn has_effects(&self) -> bool {
        !self.executions.is_empty()
    }

    pub(crate) fn next(&self) -> Step {
        match &self.state {
            State::Asking => Step::AskModel,
            State::Calling(message) => Step::RunTools(message.clone()),
            State::Answered(_) => Step::Finish,
        }
    }

    /// Takes the model's answer.
    ///
    /// # Errors
    ///
    /// If the answer calls more tools than a limit allows. None of them has run then.
    pub(crate) fn model_replied(&mut self, mut response: ChatResponse) -> Result<()> {
        self.usage += response.usage;
        if response.message.tool_calls().is_empty() {
            self.request.turn.push(response.message.clone().into());
            self.state = State::Answered(response);
            return Ok(());
        }
        self.check_limits(response.message.tool_calls())?;
        self.rounds += 1;
        response.message = self.with_unique_ids(response.message);
        self.request.turn.push(response.message.clone().into());
        self.state = State::Calling(response.message.clone());
        self.intermediate.push(response);
        Ok(())
    }

    /// Takes the results of the tools that the last answer called. If they `are_answer`, the model
    /// is not asked again.
    pub(crate) fn tools_replied(&mut self, executions: Vec<ToolExecution>, are_answer: bool) {
        let results = executions.iter().map(|execution| execution.result().clone().into());
        self.request.turn.extend(results);
        // Once it has called, a model that is made to call tools would never come to an end.
        if let Some(ToolChoice::Required | ToolChoice::Tool(_)) =
            self.request.parameters.tool_choice
        {
            Arc::make_mut(&mut self.request.parameters).tool_choice = Some(ToolChoice::Auto);
        }
        self.state = match are_answer {
            true => {
                let answer = immediate_answer(&executions);
                self.request.turn.push(answer.message.clone().into());
                State::Answered(answer)
            }
            false => State::Asking,
        };
        self.executions.extend(executions);
    }

    /// The answer, once there is one.
    pub(crate) fn answer(&self) -> Option<&ChatResponse> {
        match &self.state {
            State::Answered(response) => Some(response),
            _ => None,
        }
    }

    /// What is to be remembered and what is to be reported, once there is an answer.
    pub(crate) fn finish(self) -> Option<(ChatRequest, Finished)> {
        let State::Answered(answer) = self.state else { return None };
        let finished = Finished {
            usage: self.usage,
            executions: self.executions,
            intermediate: self.intermediate,
            answer,
        };
        Some((self.request, finished))
    }

    /// What had been done when the turn failed.
    pub(crate) fn into_unfinished(self) -> UnfinishedTurn {
        let answer = match self.state {
            State::Answered(response) => Some(response),
            _ => None,
        };
        UnfinishedTurn::new(self.executions, self.intermediate, answer)
    }

    fn check_limits(&self, calls: &[ToolCall]) -> Result<()> {
        let Limits { tool_rounds, calls_per_answer, argument_bytes } = self.limits;
        let exceeded = |what: String| Err(Error::new(ErrorKind::LimitExceeded, what));
        if self.rounds >= tool_rounds {
            return exceeded(format!(
                "the model still calls tools after {tool_rounds} rounds; raise `max_tool_rounds` if it needs more"
            ));
        }
        if calls.len() > calls_per_answer {
            return exceeded(format!(
                "the model called {} tools at once; at most {calls_per_answer} are allowed",
                calls.len()
            ));
        }
        if let Some(call) = calls.iter().find(|call| call.arguments().len() > argument_bytes) {
            return exceeded(format!(
                "the arguments of tool `{}` have {} bytes; at most {argument_bytes} are allowed",
                call.name(),
                call.arguments().len()
            ));
        }
        Ok(())
    }

    /// The message with an id of its own for each call.
    fn with_unique_ids(&self, message: AiMessage) -> AiMessage {
        let calls = message.tool_calls();
        let is_taken = |index: usize, id: &str| {
            id.is_empty() || calls.iter().take(index).any(|earlier| earlier.id() == id)
        };
        if !calls.iter().enumerate().any(|(index, call)| is_taken(index, call.id())) {
            return message;
        }
        let mut unique: Vec<ToolCall> = Vec::with_capacity(calls.len());
        for (index, call) in calls.iter().enumerate() {
            let mut id = call.id().to_owned();
            let mut attempt = index;
            while id.is_empty() || unique.iter().any(|earlier| earlier.id() == id) {
                id = format!("call_{}_{attempt}", self.rounds);
                attempt += calls.len();
            }
            unique.push(call.clone().with_id(id));
        }
        message.with_tool_calls(unique)
    }
}

/// A turn that has its answer.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) usage: TokenUsage,
    pub(crate) executions: Vec<ToolExecution>,
    pub(crate) intermediate: Vec<ChatResponse>,
    pub(crate) answer: ChatResponse,
}

impl Finished {
    /// The method's value with everything that it took.
    pub(crate) fn into_response<T>(self, value: T) -> Response<T> {
        Response {
            value,
            token_usage: self.usage,
            finish_reason: self.answer.finish_reason.clone(),
            tool_executions: self.executions,
            intermediate_responses: self.intermediate,
            final_response: self.answer,
        }
    }
}

/// The answer that the results of tools are: their texts, one below the other.
fn immediate_answer(executions: &[ToolExecution]) -> ChatResponse {
    let contents = executions.iter().flat_map(|execution| execution.result().contents());
    let texts: Vec<&str> = contents.filter_map(Content::text).collect();
    ChatResponse::new(AiMessage::new(texts.join("\n")))
        .with_finish_reason(FinishReason::ToolExecution)
}

#[cfg(test)]
mod tests;
