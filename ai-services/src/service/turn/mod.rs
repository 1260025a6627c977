//! One turn: the user's message, the model's calls of tools, the answer.
//!
//! The turn decides and never waits: it says what to do next and is told how that went. Whoever
//! drives it does the asking and the running, so that there is one loop however the answer arrives.

mod answer;
mod checked;
mod finished;
mod rules;

pub use answer::RejectedAnswer;
pub(crate) use answer::rewritten;
pub(crate) use checked::{AnsweredBy, Checked};
pub(crate) use finished::Finished;
pub(crate) use rules::{Limits, Rules};

use super::spent::Spent;
use super::unfinished::UnfinishedTurn;
use crate::error::{Error, ErrorKind, Result};
use crate::invocation::ToolExecution;
use crate::message::{AiMessage, ChatMessage, ToolCall};
use crate::model::{ChatRequest, ChatResponse, FinishReason, TokenUsage, ToolChoice, UsageMeter};
use std::sync::Arc;

/// What to do next.
#[derive(Debug)]
pub(crate) enum Step {
    /// Send [`Turn::request`].
    AskModel,
    /// Run the calls of this message.
    RunTools(AiMessage),
    /// Check [`Turn::answer`].
    CheckAnswer,
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
    answered_by: AnsweredBy,
    /// How often the model was asked again because it could not be read, and because of checks.
    repairs: usize,
    check_repeats: usize,
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
    Checked(ChatResponse),
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
            answered_by: AnsweredBy::Text,
            repairs: 0,
            check_repeats: 0,
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

    /// Adds what other models used on behalf of the turn.
    pub(crate) fn count(&mut self, meter: &UsageMeter) {
        self.spent.count(meter, self.rules.prices);
    }

    /// How many answers were rejected so far.
    pub(crate) fn rejected(&self) -> usize {
        self.rejected.len()
    }

    /// How the model came by the answer.
    pub(crate) fn answered_by(&self) -> AnsweredBy {
        self.answered_by
    }

    /// Whether a tool has run.
    pub(crate) fn has_effects(&self) -> bool {
        !self.executions.is_empty()
    }

    /// The tools that ran for the last answer that called some.
    pub(crate) fn last_executions(&self) -> &[ToolExecution] {
        let calls = self.intermediate.last().map_or(0, |last| last.message.tool_calls().len());
        let before = self.executions.len().saturating_sub(calls);
        self.executions.get(before..).unwrap_or_default()
    }

    pub(crate) fn next(&self) -> Step {
        match &self.state {
            State::Asking => Step::AskModel,
            State::Calling(message, _) => Step::RunTools(message.clone()),
            State::Answered(_) if self.rules.checks_answers => Step::CheckAnswer,
            State::Answered(_) | State::Checked(_) => Step::ReadAnswer,
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
            self.answer_with(answer.unwrap_or(response), AnsweredBy::Text);
            return Ok(());
        }
        self.rules.limits.check(self.rounds, response.message.tool_calls())?;
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
            Some(answer) if all_succeeded => self.answer_with(answer, AnsweredBy::TextBesideCalls),
            _ if are_answer => {
                self.answer_with(answer::of_results(&executions), AnsweredBy::Results);
            }
            _ => {}
        }
        self.executions.extend(executions);
        is_void
    }

    /// Takes what checking the answer came to.
    ///
    /// # Errors
    ///
    /// If the model would have to be asked again more often than is allowed.
    pub(crate) fn answer_checked(&mut self, checked: Checked) -> Result<()> {
        let answer = match std::mem::replace(&mut self.state, State::Asking) {
            State::Answered(answer) => answer,
            other => {
                self.state = other;
                return Ok(());
            }
        };
        match checked {
            Checked::Accepted => self.state = State::Checked(answer),
            Checked::Rewritten(text) => {
                let answer = rewritten(answer, text);
                if self.answered_by == AnsweredBy::Results {
                    self.answered_by = AnsweredBy::Text;
                }
                if let Some(last) = self.request.turn.last_mut() {
                    *last = answer.message.clone().into();
                }
                self.state = State::Checked(answer);
            }
            Checked::Again { rejection, .. } if self.check_repeats >= self.rules.check_retries => {
                self.state = State::Answered(answer);
                return Err(rejection.into_error_after(self.check_repeats));
            }
            Checked::Again { rejection, prompt } => {
                self.check_repeats += 1;
                match prompt {
                    Some(prompt) => self.object(prompt),
                    // The same request again: it does not hold the answer.
                    None => drop(self.request.turn.pop()),
                }
                self.rejected.push(RejectedAnswer::new(answer, rejection.into_error()));
            }
        }
        Ok(())
    }

    /// Tells the model something about its answer, which is the last message.
    fn object(&mut self, objection: impl Into<Box<str>>) {
        self.rejected_at.push(self.request.turn.len().saturating_sub(1));
        self.request.turn.push(ChatMessage::user(objection));
    }

    /// Takes what reading the answer came to, and says whether the model is asked once more.
    ///
    /// # Errors
    ///
    /// The error of reading, if the model is not told of it.
    pub(crate) fn answer_read(&mut self, outcome: Result<()>) -> Result<bool> {
        let answer = match std::mem::replace(&mut self.state, State::Asking) {
            State::Answered(answer) | State::Checked(answer) => answer,
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
                self.repairs += 1;
                self.object(answer::complaint(&error));
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
            && self.repairs < self.rules.output_retries
            && answer.finish_reason != Some(FinishReason::Length)
    }

    fn answer_with(&mut self, answer: ChatResponse, answered_by: AnsweredBy) {
        self.answered_by = answered_by;
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
            State::Answered(response) | State::Checked(response) | State::Accepted(response) => {
                Some(response)
            }
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
            sources: Vec::new(),
            answer,
        };
        Some((self.request, finished))
    }

    /// What had been done when the turn failed.
    pub(crate) fn into_unfinished(self) -> UnfinishedTurn {
        let answer = match self.state {
            State::Answered(response) | State::Checked(response) | State::Accepted(response) => {
                Some(response)
            }
            _ => None,
        };
        UnfinishedTurn::new(self.executions, self.intermediate, self.rejected, answer)
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
