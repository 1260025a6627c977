//! Execution of the tool calls of one answer.

use super::bounded::TimeLimit;
use super::checkpoint::Checkpoints;
use super::error::{FailureKind, ToolError};
use super::input::{ToolContext, ToolInput};
use super::key::CallPlace;
use super::output::ToolOutput;
use super::policy::{ToolArgumentsPolicy, ToolErrorPolicy, ToolSettings, UnknownToolPolicy};
use super::progress::ToolProgress;
use super::toolbox::Toolbox;
use super::{Order, StartedTool, Tool};
use crate::approval::{Awaited, Continuation};
use crate::error::{Error, ErrorKind, Result};
use crate::invocation::{ToolExecution, TurnId};
use crate::message::{Contents, ToolCall, ToolResult};
use crate::trace::StepSpan;
use futures_util::stream::{self, StreamExt};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use tracing::field;

/// A receiver of the start and end of tool calls.
#[doc(hidden)]
pub trait ToolObserver: Sync {
    /// Called before a tool starts, also if the tool does not exist.
    fn tool_started(&self, call: &ToolCall);
    /// Called with the progress of a running tool.
    fn tool_progressed(&self, call: &ToolCall, progress: &ToolProgress);
    /// Called when a tool has finished or failed.
    fn tool_finished(&self, execution: &ToolExecution);
    /// Called instead of `tool_finished` when a tool waits. The result is a placeholder.
    fn tool_suspended(&self, execution: &ToolExecution) {
        self.tool_finished(execution);
    }
}

/// An attempt at a call of an answer.
#[derive(Clone, Copy)]
pub(super) struct Attempt<'a> {
    pub(super) call: &'a ToolCall,
    /// The index of the call in the answer.
    pub(super) index: usize,
    /// The number of the attempt, from 1.
    pub(super) number: u32,
    /// The state of a suspended call.
    pub(super) continuation: Option<&'a Arc<Continuation>>,
    /// The receiver of states that outlive the process.
    pub(super) checkpoints: Option<&'a Checkpoints>,
}

impl<'a> Attempt<'a> {
    /// Describes an attempt from the beginning.
    pub(super) fn new(index: usize, call: &'a ToolCall, number: u32) -> Self {
        Self { call, index, number, continuation: None, checkpoints: None }
    }

    fn first(index: usize, call: &'a ToolCall) -> Self {
        Self::new(index, call, 1)
    }
}

/// Runs the tools of one round.
#[doc(hidden)]
#[allow(missing_debug_implementations, reason = "an observer has nothing to show")]
pub struct Runner<'a> {
    /// The available tools.
    pub toolbox: &'a Toolbox,
    /// The turn that calls the tools.
    pub turn: TurnId,
    /// The number of the round in the turn, from 1.
    pub round: u32,
    /// The context that all tool calls share.
    pub context: &'a ToolContext,
    /// The policies and limits of the tool calls.
    pub settings: &'a ToolSettings,
    /// The receiver of the start and end of each tool call.
    pub observer: &'a dyn ToolObserver,
    /// The end of the running time of the turn, if a budget limits it.
    pub deadline: Option<Instant>,
}

/// The outcome of the tool calls of one answer.
#[derive(Debug)]
pub struct ToolRun {
    /// The executions, in the order of the calls.
    pub executions: Vec<ToolExecution>,
    /// The first error that fails the service call, if any.
    pub failure: Option<Error>,
    /// The use of the results.
    pub result_use: ResultUse,
    /// The calls that wait for answers of the user, or for work elsewhere, by their index in the answer.
    pub awaited: Vec<(usize, Awaited)>,
}

/// The use of the results of one round of tool calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultUse {
    /// The results are sent to the model.
    SendToModel,
    /// The results are the answer of the turn.
    ReturnAsAnswer,
}

impl ToolRun {
    pub(super) fn new(calls: usize) -> Self {
        let (failure, result_use) = (None, ResultUse::SendToModel);
        Self { executions: Vec::with_capacity(calls), failure, result_use, awaited: Vec::new() }
    }

    pub(super) fn add(&mut self, (execution, failure): (ToolExecution, Option<Error>)) {
        self.executions.push(execution);
        if self.failure.is_none() {
            self.failure = failure;
        }
    }
}

impl Runner<'_> {
    /// Runs the calls of one answer. Sequential tools run alone, others concurrently.
    #[doc(hidden)]
    pub async fn run(&self, calls: &[ToolCall]) -> ToolRun {
        let mut run = ToolRun::new(calls.len());
        while let Some(rest @ [_, ..]) = calls.get(run.executions.len()..) {
            let first = run.executions.len();
            match self.next_group(rest) {
                [only] => run.add(self.run_one(Attempt::first(first, only)).await),
                group => {
                    let mut running = Vec::with_capacity(group.len());
                    for (index, call) in (first..).zip(group) {
                        running.push(self.run_one(Attempt::first(index, call)));
                    }
                    let mut running = stream::iter(running).buffered(self.concurrency());
                    while let Some(outcome) = running.next().await {
                        run.add(outcome);
                    }
                }
            }
        }
        self.complete(run, calls)
    }

    /// Returns the run of all calls with the use of their results.
    pub(super) fn complete(&self, mut run: ToolRun, calls: &[ToolCall]) -> ToolRun {
        let has_failed = |execution: &ToolExecution| execution.result().is_error();
        if self.toolbox.answers(calls) && !run.executions.iter().any(has_failed) {
            run.result_use = ResultUse::ReturnAsAnswer;
        }
        run
    }

    /// Returns the first calls that run concurrently: those before the next sequential tool. At least 1, if there
    /// are any.
    pub(super) fn next_group<'c>(&self, calls: &'c [ToolCall]) -> &'c [ToolCall] {
        if calls.len() < 2 {
            return calls;
        }
        let concurrent = calls.iter().take_while(|call| self.order(call) == Order::Concurrent);
        calls.split_at(concurrent.count().max(1)).0
    }

    /// Returns the largest number of calls that run at once. At least 1.
    pub(super) fn concurrency(&self) -> usize {
        self.settings.concurrency.max(1)
    }

    fn order(&self, call: &ToolCall) -> Order {
        self.toolbox.get(call.name()).map_or(Order::Concurrent, |tool| tool.0.order)
    }

    /// Makes an attempt at a call.
    pub(super) async fn run_one(&self, attempt: Attempt<'_>) -> (ToolExecution, Option<Error>) {
        let call = attempt.call;
        let span = tracing::info_span!(
            "execute_tool",
            otel.name = %format_args!("execute_tool {}", call.name()),
            otel.status_code = field::Empty,
            gen_ai.operation.name = "execute_tool",
            gen_ai.conversation.id = field::Empty,
            gen_ai.tool.name = call.name(),
            gen_ai.tool.r#type = "function",
            gen_ai.tool.description = self.description(call),
            gen_ai.tool.call.id = call.id(),
            ai_services.suspended = field::Empty,
            error.r#type = field::Empty,
        );
        let mut step = StepSpan::new(span);
        step.span().in_scope(|| self.observer.tool_started(call));
        let started = Instant::now();
        // The future is large, and `run` would move it.
        let outcome = step.run(pin!(self.outcome(attempt, started))).await;
        let reason = outcome.as_ref().err().map(|error| error.failure);
        let (execution, failure) = self.execution(call, outcome, started.elapsed());
        end_step(&mut step, reason, failure.as_ref());
        let is_suspended =
            failure.as_ref().is_some_and(|error| error.kind() == ErrorKind::Suspended);
        step.span().in_scope(|| match is_suspended {
            true => self.observer.tool_suspended(&execution),
            false => self.observer.tool_finished(&execution),
        });
        (execution, failure)
    }

    fn description(&self, call: &ToolCall) -> Option<&str> {
        self.toolbox.get(call.name()).map(|tool| &*tool.specification().description)
    }

    async fn outcome(
        &self,
        attempt: Attempt<'_>,
        started: Instant,
    ) -> Result<ToolOutput, ToolError> {
        let Some(tool) = self.toolbox.get(attempt.call.name()) else {
            return Err(self.unknown_tool(attempt.call));
        };
        let limit = TimeLimit { started, timeout: self.timeout(tool) };
        let input = self.input(attempt);
        let signals = input.signals().clone();
        let running = pin!(async {
            match tool.start(input)? {
                StartedTool::Finished(output) => Ok(output),
                StartedTool::Running(future) => limit.apply(&signals, future)?.await,
            }
        });
        let observe = |progress: &_| self.observer.tool_progressed(attempt.call, progress);
        match signals.follow(running, observe).await {
            Err(error) if error.loses_result() => Box::pin(self.settle(tool, attempt, error)).await,
            outcome => outcome,
        }
    }

    /// Returns the time limit of a tool: its own, or that of the service, and at most the time until the deadline.
    fn timeout(&self, tool: &Tool) -> Duration {
        let own = tool.0.timeout.unwrap_or(self.settings.timeout);
        self.deadline
            .map_or(own, |deadline| own.min(deadline.saturating_duration_since(Instant::now())))
    }

    pub(super) fn input(&self, attempt: Attempt<'_>) -> ToolInput {
        let Attempt { call, index, number, continuation, checkpoints } = attempt;
        let index = u32::try_from(index).unwrap_or(u32::MAX);
        let place = CallPlace { turn: self.turn, round: self.round, index };
        ToolInput::new(call, self.context, place, number)
            .with_continuation(continuation)
            .with_checkpoints(checkpoints)
    }

    fn unknown_tool(&self, call: &ToolCall) -> ToolError {
        let names: Vec<&str> = self.toolbox.names().collect();
        let available = if names.is_empty() {
            "no tools are available".to_owned()
        } else {
            format!("the available tools are: {}", names.join(", "))
        };
        ToolError::of(
            FailureKind::UnknownTool,
            format!("unknown tool `{}`; {available}", call.name()),
        )
    }

    /// Returns the record of a call, and an error if the service call has to fail.
    pub(super) fn execution(
        &self,
        call: &ToolCall,
        outcome: Result<ToolOutput, ToolError>,
        duration: Duration,
    ) -> (ToolExecution, Option<Error>) {
        let error = match outcome {
            Ok(output) => {
                let (result, failure) = self.result(call, output);
                return (ToolExecution::new(call, result, duration), failure);
            }
            Err(error) => error,
        };
        let reason = match (error.failure, self.settings.error) {
            (
                FailureKind::Tool | FailureKind::Timeout | FailureKind::LostAnswer,
                ToolErrorPolicy::Conceal,
            ) => "the tool failed",
            _ => error.text_for_model(),
        };
        let result = |text: &str| ToolResult::of_call(call, Contents::text(text)).into_error();
        let execution = match error.effect() {
            None => ToolExecution::new(call, result(reason), duration),
            Some(effect) => {
                let execution = ToolExecution::new(call, result(&effect.result(reason)), duration);
                if effect.is_unknown() { with_unknown_outcome(execution) } else { execution }
            }
        };
        let failure = self.must_fail(error.failure).then(|| error.into_error(call.name()));
        (execution, failure)
    }

    /// Returns the result of a tool that succeeded, and an error if it is too large.
    fn result(&self, call: &ToolCall, output: ToolOutput) -> (ToolResult, Option<Error>) {
        let (size, max) = (output.size(), self.settings.max_result_bytes);
        if size <= max {
            let result = ToolResult::of_call(call, output.contents);
            return (result.with_attributes_if_any(output.attributes), None);
        }
        let name = call.name();
        let result = ToolResult::new(call.id(), name, "the result is too large").into_error();
        let message = format!("tool `{name}` returned {size} bytes; at most {max} are allowed");
        (result, Some(Error::new(ErrorKind::LimitExceeded, message)))
    }

    /// Returns `true` if a failure of this kind fails the service call.
    fn must_fail(&self, failure: FailureKind) -> bool {
        match failure {
            FailureKind::UnknownTool => self.settings.unknown_tool == UnknownToolPolicy::Fail,
            FailureKind::Arguments => self.settings.arguments == ToolArgumentsPolicy::Fail,
            FailureKind::Fatal | FailureKind::Suspended => true,
            FailureKind::Tool
            | FailureKind::Concealed
            | FailureKind::Timeout
            | FailureKind::LostAnswer
            | FailureKind::Panic => self.settings.error == ToolErrorPolicy::Fail,
        }
    }
}

/// Records the outcome of a call. A call that waits has not failed.
fn end_step(step: &mut StepSpan, reason: Option<FailureKind>, failure: Option<&Error>) {
    match (reason, failure) {
        (Some(FailureKind::Suspended), _) => {
            step.span().record("ai_services.suspended", true);
            step.succeed();
        }
        (Some(reason), _) => step.fail(&reason),
        (None, Some(error)) => step.fail(&error.kind()),
        (None, None) => step.succeed(),
    }
}

/// Marks a call that may or may not have taken effect.
pub(super) fn with_unknown_outcome(execution: ToolExecution) -> ToolExecution {
    tracing::warn!(tool = execution.call().name(), "the outcome of a tool call is unknown");
    execution.with_unknown_outcome()
}
