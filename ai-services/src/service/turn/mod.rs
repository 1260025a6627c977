//! One turn: the user's message, the model's calls of tools, the answer.
//!
//! The turn decides and never waits: it says what to do next and is told how that went. Whoever
//! drives it does the asking and the running, so that there is one loop however the answer arrives.

mod answer;
mod finished;

pub use answer::RejectedAnswer;
pub(crate) use finished::Finished;

use super::spent::{Prices, Spent};
use super::unfinished::UnfinishedTurn;
use crate::error::{Error, ErrorKind, Result};
use crate::invocation::ToolExecution;
use crate::message::{AiMessage, ChatMessage, ToolCall};
use crate::model::{ChatRequest, ChatResponse, FinishReason, TokenUsage, ToolChoice};
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

/// What decides about the course of a turn.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rules<'a> {
    pub(crate) limits: Limits,
    /// The tool whose arguments are the answer.
    pub(crate) answer_tool: Option<&'a str>,
    /// How often the model is told what is wrong with its answer.
    pub(crate) output_retries: usize,
    /// What model calls cost.
    pub(crate) prices: Option<Prices<'a>>,
}

/// What to do next.
#[derive(Debug)]
pub(crate) enum Step {
    /// Send [`Turn::request`].
    AskModel,
    /// Run the calls of this message.
    RunTools(AiMessage),
    /// Read [`Turn::answer`].
    ReadAnswer,
    /// The answer was read.
    Finish,
}

/// A turn under way.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    request: ChatRequest,
    rules: Rules<'a>,
    state: State,
    rounds: usize,
    spent: Spent,
    executions: Vec<ToolExecution>,
    intermediate: Vec<ChatResponse>,
    rejected: Vec<RejectedAnswer>,
    /// Where in the turn each rejected answer stands; what was said to it follows.
    rejected_at: Vec<usize>,
}

#[derive(Debug)]
enum State {
    Asking,
    /// Tools are called, perhaps beside an answer that counts if all of them succeed.
    Calling(AiMessage, Option<ChatResponse>),
    Answered(ChatResponse),
    Accepted(ChatResponse),
}

impl<'a> Turn<'a> {
    /// A turn that starts with `request`; `spent` was spent on it before.
    pub(crate) fn new(request: ChatRequest, rules: Rules<'a>, spent: Spent) -> Self {
        Self {
            request,
            rules,
            state: State::Asking,
            rounds: 0,
            spent,
            executions: Vec::new(),
            intermediate: Vec::new(),
            rejected: Vec::new(),
            rejected_at: Vec::new(),
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
        self.spent.usage
    }

    /// The tokens and the money spent so far.
    pub(crate) fn spent(&self) -> Spent {
        self.spent
    }

    /// Whether a tool has run.
    pub(crate) fn has_effects(&self) -> bool {
        !self.executions.is_empty()
    }

    pub(crate) fn next(&self) -> Step {
        match &self.state {
            State::Asking => Step::AskModel,
            State::Calling(message, _) => Step::RunTools(message.clone()),
            State::Answered(_) => Step::ReadAnswer,
            State::Accepted(_) => Step::Finish,
        }
    }

    /// Takes the model's answer.
    ///
    /// # Errors
    ///
    /// If the answer calls more tools than a limit allows. None of them has run then.
    pub(crate) fn model_replied(&mut self, response: ChatResponse) -> Result<()> {
        self.spent.add(&response, self.rules.prices);
        let (mut response, answer) = answer::split(response, self.rules.answer_tool);
        if response.message.tool_calls().is_empty() {
            self.answer_with(answer.unwrap_or(response));
            return Ok(());
        }
        self.check_limits(response.message.tool_calls())?;
        self.rounds += 1;
        response.message = self.with_unique_ids(response.message);
        self.request.turn.push(response.message.clone().into());
        self.state = State::Calling(response.message.clone(), answer);
        self.intermediate.push(response);
        Ok(())
    }

    /// Takes the results of the tools that the last answer called. If they `are_answer`, the model
    /// is not asked again. Says whether an answer that came beside the calls is void.
    pub(crate) fn tools_replied(
        &mut self,
        executions: Vec<ToolExecution>,
        are_answer: bool,
    ) -> bool {
        let beside = match std::mem::replace(&mut self.state, State::Asking) {
            State::Calling(_, answer) => answer,
            _ => None,
        };
        let results = executions.iter().map(|execution| execution.result().clone().into());
        self.request.turn.extend(results);
        self.relax_tool_choice();
        let all_succeeded = executions.iter().all(|execution| !execution.result().is_error());
        let is_void = beside.is_some() && !all_succeeded;
        match beside {
            Some(answer) if all_succeeded => self.answer_with(answer),
            _ if are_answer => self.answer_with(answer::of_results(&executions)),
            _ => {}
        }
        self.executions.extend(executions);
        is_void
    }

    /// Takes what reading the answer came to, and says whether the model is asked once more.
    ///
    /// # Errors
    ///
    /// The error of reading, if the model is not told of it.
    pub(crate) fn answer_read(&mut self, outcome: Result<()>) -> Result<bool> {
        let answer = match std::mem::replace(&mut self.state, State::Asking) {
            State::Answered(answer) => answer,
            other => {
                self.state = other;
                return outcome.map(|()| false);
            }
        };
        match outcome {
            Ok(()) => {
                self.state = State::Accepted(answer);
                Ok(false)
            }
            Err(error) if self.may_repair(&answer, &error) => {
                // The answer is the last message.
                self.rejected_at.push(self.request.turn.len().saturating_sub(1));
                self.request.turn.push(ChatMessage::user(answer::complaint(&error)));
                self.rejected.push(RejectedAnswer::new(answer, error));
                Ok(true)
            }
            Err(error) => {
                self.state = State::Answered(answer);
                Err(error)
            }
        }
    }

    /// An answer that was cut at its greatest length would be cut again.
    fn may_repair(&self, answer: &ChatResponse, error: &Error) -> bool {
        error.kind() == ErrorKind::Output
            && self.rejected.len() < self.rules.output_retries
            && answer.finish_reason != Some(FinishReason::Length)
    }

    fn answer_with(&mut self, answer: ChatResponse) {
        self.request.turn.push(answer.message.clone().into());
        self.state = State::Answered(answer);
    }

    /// Once it has called, a model that is made to call tools would never come to an end, unless
    /// one of them takes the answer.
    fn relax_tool_choice(&mut self) {
        let relaxed = match (&self.request.parameters.tool_choice, self.rules.answer_tool) {
            (Some(ToolChoice::Required | ToolChoice::Tool(_)), None) => ToolChoice::Auto,
            (Some(ToolChoice::Tool(name)), Some(answer)) if **name != *answer => {
                ToolChoice::Required
            }
            _ => return,
        };
        Arc::make_mut(&mut self.request.parameters).tool_choice = Some(relaxed);
    }

    /// The answer, once there is one.
    pub(crate) fn answer(&self) -> Option<&ChatResponse> {
        match &self.state {
            State::Answered(response) | State::Accepted(response) => Some(response),
            _ => None,
        }
    }

    /// What is to be remembered and what is to be reported, once the answer was read. Rejected
    /// answers are reported only.
    pub(crate) fn finish(mut self) -> Option<(ChatRequest, Finished)> {
        let State::Accepted(answer) = self.state else { return None };
        for at in self.rejected_at.into_iter().rev() {
            let end = self.request.turn.len().min(at + 2);
            self.request.turn.drain(at..end);
        }
        let finished = Finished {
            spent: self.spent,
            executions: self.executions,
            intermediate: self.intermediate,
            rejected: self.rejected,
            answer,
        };
        Some((self.request, finished))
    }

    /// What had been done when the turn failed.
    pub(crate) fn into_unfinished(self) -> UnfinishedTurn {
        let answer = match self.state {
            State::Answered(response) | State::Accepted(response) => Some(response),
            _ => None,
        };
        UnfinishedTurn::new(self.executions, self.intermediate, self.rejected, answer)
    }

    fn check_limits(&self, calls: &[ToolCall]) -> Result<()> {
        let Limits { tool_rounds, calls_per_answer, argument_bytes } = self.rules.limits;
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

#[cfg(test)]
mod tests;
