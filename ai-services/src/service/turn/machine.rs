//! The state machine of a turn.
//!
//! The machine decides and does no I/O: each method takes the outcome of a step and returns the next
//! one. One driver therefore serves whole and streamed answers.

use super::account::Account;
use super::answer;
use super::check_outcome::{AnswerSource, CheckOutcome};
use super::finished_turn::FinishedTurn;
use super::rules::Rules;
use crate::memory::TurnId;
use crate::message::{AiMessage, ChatMessage, ToolCall};
use crate::model::{ChatRequest, ChatResponse, FinishReason, TokenUsage, ToolChoice};
use crate::service::unfinished_turn::UnfinishedTurn;
use crate::tool::{ResultUse, ToolExecution};
use crate::{Error, ErrorKind, Result};
use ai_services_core::answer::RejectedAnswer;
use std::sync::Arc;

/// The next step of a turn.
#[derive(Debug)]
pub(crate) enum Step {
    /// Send [`Turn::request`] to the model, then call [`Turn::model_replied`].
    CallModel,
    /// Declare the delivered text void, then call the model. A tool next to the answer has failed.
    Restart,
    /// Run the tool calls of the round, then call [`Turn::tools_replied`].
    RunTools(ToolRound),
    /// Check the answer, then call [`Turn::answer_checked`].
    CheckAnswer(Box<ChatResponse>),
    /// Parse the answer, then call [`Turn::finish`] or [`Turn::repair`].
    ParseAnswer(Box<ChatResponse>),
}

/// A message of the model that calls tools.
#[derive(Debug)]
pub(crate) struct ToolRound {
    pub(crate) message: AiMessage,
    /// The answer next to the calls. It counts if all tools succeed.
    answer: Option<Box<ChatResponse>>,
}

/// A turn in progress.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    request: ChatRequest,
    rules: Rules<'a>,
    pub(crate) account: Account<'a>,
    /// Created with the first round of tool calls.
    id: Option<TurnId>,
    rounds: usize,
    executions: Vec<ToolExecution>,
    intermediate: Vec<ChatResponse>,
    answer_source: AnswerSource,
    /// Number of retries because of answers that could not be parsed.
    repairs: usize,
    /// Number of retries because of checks.
    check_retries: usize,
    rejected: Vec<RejectedAnswer>,
    /// Positions of the rejected answers in the turn. Each is followed by a message to the model.
    rejected_at: Vec<usize>,
    /// The answer that failed the turn, for the report.
    failed_answer: Option<Box<ChatResponse>>,
}

impl<'a> Turn<'a> {
    /// Creates a turn that starts with `request`. The first step is [`Step::CallModel`]. A turn that is resumed has an
    /// id.
    pub(crate) fn new(
        request: ChatRequest,
        rules: Rules<'a>,
        account: Account<'a>,
        id: Option<TurnId>,
    ) -> Self {
        Self {
            request,
            rules,
            account,
            id,
            rounds: 0,
            executions: Vec::new(),
            intermediate: Vec::new(),
            answer_source: AnswerSource::Message,
            repairs: 0,
            check_retries: 0,
            rejected: Vec::new(),
            rejected_at: Vec::new(),
            failed_answer: None,
        }
    }

    /// Returns the next request to the model.
    pub(crate) fn request(&self) -> &ChatRequest {
        &self.request
    }

    /// Returns the next request to the model, to be fitted into a window.
    pub(crate) fn request_mut(&mut self) -> &mut ChatRequest {
        &mut self.request
    }

    /// Returns `true` if the turn was resumed, until its first round of tool calls.
    pub(crate) fn is_resumed(&self) -> bool {
        self.id.is_some()
    }

    /// Returns the id of the turn.
    pub(crate) fn id(&mut self) -> TurnId {
        *self.id.get_or_insert_with(TurnId::new)
    }

    /// Returns the number of rounds of tool calls so far.
    pub(crate) fn round(&self) -> u32 {
        u32::try_from(self.rounds).unwrap_or(u32::MAX)
    }

    /// Returns the token usage so far.
    pub(crate) fn usage(&self) -> TokenUsage {
        self.account.spent().usage
    }

    /// Returns the number of rejected answers so far.
    pub(crate) fn rejected(&self) -> usize {
        self.rejected.len()
    }

    pub(crate) fn answer_source(&self) -> AnswerSource {
        self.answer_source
    }

    /// Returns `true` if a tool ran.
    pub(crate) fn has_effects(&self) -> bool {
        !self.executions.is_empty()
    }

    /// Returns the tool executions of the last round.
    pub(crate) fn last_executions(&self) -> &[ToolExecution] {
        let calls = self.intermediate.last().map_or(0, |last| last.message.tool_calls().len());
        let before = self.executions.len().saturating_sub(calls);
        self.executions.get(before..).unwrap_or_default()
    }

    /// Prepares the next request to the model.
    ///
    /// # Errors
    ///
    /// If a budget does not allow the request.
    pub(crate) fn begin_request(&mut self) -> Result<()> {
        let follows_tools = self.request.turn.last().is_some_and(ChatMessage::is_tool_result);
        self.account.begin_request(follows_tools)?;
        if self.account.withholds_tools() {
            self.withhold_tools();
        }
        Ok(())
    }

    /// Takes the response of the model.
    ///
    /// # Errors
    ///
    /// If the response calls more tools than a limit allows. None of the tools has run.
    pub(crate) fn model_replied(&mut self, response: Box<ChatResponse>) -> Result<Step> {
        self.account.add_answer(&response);
        self.take_response(response, |account, calls| account.admit_tools(calls))
    }

    /// Takes a response that was recorded with the amounts that the turn has spent.
    ///
    /// # Errors
    ///
    /// If the response calls more tools than one response may. None of the tools has run.
    pub(crate) fn response_replayed(&mut self, response: Box<ChatResponse>) -> Result<Step> {
        self.take_response(response, |_, _| Ok(true))
    }

    fn take_response(
        &mut self,
        response: Box<ChatResponse>,
        admit_tools: impl FnOnce(&mut Account<'a>, usize) -> Result<bool>,
    ) -> Result<Step> {
        self.request.is_retry = false;
        let (mut response, answer) = answer::split(response, self.rules.answer_tool);
        if response.message.tool_calls().is_empty() {
            return Ok(self.answered(answer.unwrap_or(response), AnswerSource::Message));
        }
        self.rules.limits.check(response.message.tool_calls())?;
        let may_start = admit_tools(&mut self.account, response.message.tool_calls().len())?;
        self.rounds += usize::from(may_start);
        response.message = self.with_unique_ids(response.message);
        let message = response.message.clone();
        self.request.turn.push(message.clone().into());
        self.intermediate.push(*response);
        if may_start {
            return Ok(Step::RunTools(ToolRound { message, answer }));
        }
        let results = message.tool_calls().iter().map(answer::of_refused_call);
        self.request.turn.extend(results.map(ChatMessage::from));
        Ok(if answer.is_some() { Step::Restart } else { Step::CallModel })
    }

    /// Takes the results of the tools of a round.
    pub(crate) fn tools_replied(
        &mut self,
        round: ToolRound,
        executions: Vec<ToolExecution>,
        result_use: ResultUse,
    ) -> Step {
        let results = executions.iter().map(|execution| execution.result().clone().into());
        self.request.turn.extend(results);
        self.relax_tool_choice();
        let all_succeeded = executions.iter().all(|execution| !execution.result().is_error());
        let results_answer = (result_use == ResultUse::ReturnAsAnswer && round.answer.is_none())
            .then(|| Box::new(answer::of_results(&executions)));
        self.executions.extend(executions);
        match (round.answer, results_answer) {
            (Some(answer), _) if all_succeeded => {
                self.answered(answer, AnswerSource::BesideToolCalls)
            }
            (Some(_), _) => Step::Restart,
            (None, Some(answer)) => self.answered(answer, AnswerSource::ToolResults),
            (None, None) => Step::CallModel,
        }
    }

    /// Takes the outcome of checking the answer.
    ///
    /// # Errors
    ///
    /// If the answer was rejected and no retry is left.
    pub(crate) fn answer_checked(
        &mut self,
        mut answer: Box<ChatResponse>,
        outcome: CheckOutcome,
    ) -> Result<Step> {
        match outcome {
            CheckOutcome::Accepted => Ok(Step::ParseAnswer(answer)),
            CheckOutcome::Rewritten(text) => {
                *answer = answer::rewritten(*answer, text);
                if self.answer_source == AnswerSource::ToolResults {
                    self.answer_source = AnswerSource::Message;
                }
                if let Some(last) = self.request.turn.last_mut() {
                    *last = answer.message.clone().into();
                }
                Ok(Step::ParseAnswer(answer))
            }
            CheckOutcome::Rejected { rejection, .. }
                if self.check_retries >= self.rules.check_retries =>
            {
                Err(self.fail(answer, rejection.into_error_after(self.check_retries)))
            }
            CheckOutcome::Rejected { rejection, prompt } => {
                self.check_retries += 1;
                match prompt {
                    Some(prompt) => self.reprompt(prompt),
                    // Without the answer, the request is the same as before.
                    None => {
                        self.request.turn.pop();
                        self.request.is_retry = true;
                    }
                }
                self.rejected.push(RejectedAnswer::new(*answer, rejection.into_error()));
                Ok(Step::CallModel)
            }
        }
    }

    /// Takes an answer that cannot be parsed. The next step is [`Step::CallModel`].
    ///
    /// # Errors
    ///
    /// Returns `error` if no retry is left, or if a retry would be useless.
    pub(crate) fn repair(&mut self, answer: Box<ChatResponse>, error: Error) -> Result<()> {
        if !self.may_repair(&answer, &error) {
            return Err(self.fail(answer, error));
        }
        self.repairs += 1;
        self.reprompt(answer::complaint(&error));
        self.rejected.push(RejectedAnswer::new(*answer, error));
        Ok(())
    }

    /// Records the answer that fails the turn, and returns the error.
    pub(crate) fn fail(&mut self, answer: Box<ChatResponse>, error: Error) -> Error {
        self.failed_answer = Some(answer);
        error
    }

    /// Ends the turn with this answer.
    ///
    /// Returns the request, whose messages are to be remembered, and the report. Rejected answers are
    /// in the report only.
    #[inline]
    pub(crate) fn finish(self, answer: Box<ChatResponse>) -> (ChatRequest, FinishedTurn) {
        let Self { mut request, account, executions, intermediate, rejected, .. } = self;
        for at in self.rejected_at.into_iter().rev() {
            let end = request.turn.len().min(at + 2);
            request.turn.drain(at..end);
        }
        let spent = *account.spent();
        (request, FinishedTurn { spent, executions, intermediate, rejected, answer })
    }

    /// Returns the report of a turn that failed.
    pub(crate) fn into_unfinished(self) -> UnfinishedTurn {
        let Self { executions, intermediate, rejected, failed_answer, .. } = self;
        let answer = failed_answer.map(|answer| *answer);
        UnfinishedTurn::new(executions, intermediate, rejected, answer)
    }

    fn answered(&mut self, answer: Box<ChatResponse>, source: AnswerSource) -> Step {
        self.answer_source = source;
        self.request.turn.push(answer.message.clone().into());
        if self.rules.checks_answers {
            Step::CheckAnswer(answer)
        } else {
            Step::ParseAnswer(answer)
        }
    }

    /// Appends a message to the model after its answer, which is the last message.
    fn reprompt(&mut self, prompt: impl Into<Box<str>>) {
        self.rejected_at.push(self.request.turn.len().saturating_sub(1));
        self.request.turn.push(ChatMessage::user(prompt));
    }

    /// Returns `true` if a retry is left. An answer that was truncated would be truncated again.
    fn may_repair(&self, answer: &ChatResponse, error: &Error) -> bool {
        error.kind() == ErrorKind::Output
            && self.repairs < self.rules.output_retries
            && answer.finish_reason != Some(FinishReason::Length)
    }

    /// Stops forcing tool calls after the first round: the turn would never end. If a tool takes the
    /// answer, some tool call stays required.
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

    /// Keeps the model from calling tools, except for the one that takes the answer.
    fn withhold_tools(&mut self) {
        let Self { request, rules: Rules { answer_tool, can_forbid_tools, .. }, .. } = self;
        if !*can_forbid_tools {
            let tools = request.tools.as_slice().iter();
            let kept = tools.filter(|tool| answer_tool.is_some_and(|answer| *tool.name == *answer));
            request.tools = kept.cloned().collect::<Vec<_>>().into();
        } else if !request.tools.is_empty() {
            let choice = answer_tool.map_or(ToolChoice::None, |tool| ToolChoice::Tool(tool.into()));
            Arc::make_mut(&mut request.parameters).tool_choice = Some(choice);
        }
    }

    /// Returns the message with a unique id for each call.
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
