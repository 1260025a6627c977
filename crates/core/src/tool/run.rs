//! Execution of the tool calls of one answer.

use super::error::{FailureKind, ToolError};
use super::input::{ToolContext, ToolInput};
use super::output::ToolOutput;
use super::policy::{ToolArgumentsPolicy, ToolErrorPolicy, ToolSettings, UnknownToolPolicy};
use super::toolbox::Toolbox;
use super::{Order, StartedTool};
use crate::error::{Error, ErrorKind, Result, panic_text};
use crate::invocation::ToolExecution;
use crate::message::{ToolCall, ToolResult};
use futures_util::future::FutureExt;
use futures_util::stream::{self, StreamExt};
use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};
use tracing::{Instrument, Span, field};

/// A receiver of the start and end of tool calls.
#[doc(hidden)]
pub trait ToolObserver: Sync {
    /// Called before a tool starts, also if the tool does not exist.
    fn tool_started(&self, call: &ToolCall);
    /// Called when a tool has finished or failed.
    fn tool_finished(&self, execution: &ToolExecution);
}

/// Runs the tools of one service call.
#[doc(hidden)]
#[allow(missing_debug_implementations, reason = "an observer has nothing to show")]
pub struct Runner<'a> {
    /// The available tools.
    pub toolbox: &'a Toolbox,
    /// The context that all tool calls share.
    pub context: &'a ToolContext,
    /// The policies and limits of the tool calls.
    pub settings: &'a ToolSettings,
    /// The receiver of the start and end of each tool call.
    pub observer: &'a dyn ToolObserver,
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
    fn add(&mut self, (execution, failure): (ToolExecution, Option<Error>)) {
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
        let executions = Vec::with_capacity(calls.len());
        let mut run = ToolRun { executions, failure: None, result_use: ResultUse::SendToModel };
        while let Some(rest @ [_, ..]) = calls.get(run.executions.len()..) {
            match rest.split_at(self.group_len(rest).min(rest.len())).0 {
                [only] => run.add(self.run_one(only).await),
                group => {
                    let mut running = Vec::with_capacity(group.len());
                    for call in group {
                        running.push(self.run_one(call));
                    }
                    let mut running =
                        stream::iter(running).buffered(self.settings.concurrency.max(1));
                    while let Some(outcome) = running.next().await {
                        run.add(outcome);
                    }
                }
            }
        }
        let has_failed = |execution: &ToolExecution| execution.result().is_error();
        if self.toolbox.answers(calls) && !run.executions.iter().any(has_failed) {
            run.result_use = ResultUse::ReturnAsAnswer;
        }
        run
    }

    /// Returns the number of calls in the next group: the calls before the next sequential tool run
    /// concurrently. At least 1.
    fn group_len(&self, calls: &[ToolCall]) -> usize {
        if let [_] = calls {
            return 1;
        }
        let concurrent = calls.iter().take_while(|call| self.order(call) == Order::Concurrent);
        concurrent.count().max(1)
    }

    fn order(&self, call: &ToolCall) -> Order {
        self.toolbox.get(call.name()).map_or(Order::Concurrent, |tool| tool.0.order)
    }

    async fn run_one(&self, call: &ToolCall) -> (ToolExecution, Option<Error>) {
        let input = ToolInput::new(call, self.context);
        let span = tracing::info_span!(
            "execute_tool",
            otel.name = %format_args!("execute_tool {}", call.name()),
            gen_ai.operation.name = "execute_tool",
            gen_ai.tool.name = call.name(),
            gen_ai.tool.call.id = call.id(),
            error.r#type = field::Empty,
        );
        self.observer.tool_started(call);
        let started = Instant::now();
        let outcome = self.call(call, input).instrument(span.clone()).await;
        let (result, failure) = self.result(call, outcome, &span);
        let execution = ToolExecution::new(call, result, started.elapsed());
        self.observer.tool_finished(&execution);
        (execution, failure)
    }

    async fn call(&self, call: &ToolCall, input: ToolInput) -> Result<ToolOutput, ToolError> {
        let Some(tool) = self.toolbox.get(call.name()) else {
            return Err(self.unknown_tool(call));
        };
        let timeout = tool.0.timeout.unwrap_or(self.settings.timeout);
        // Also catches a panic of `timeout` itself, which needs a runtime with a timer.
        let running = async {
            match tool.start(input)? {
                StartedTool::Finished(output) => Ok(output),
                StartedTool::Running(future) => match tokio::time::timeout(timeout, future).await {
                    Ok(outcome) => outcome,
                    Err(_) => Err(timed_out(timeout)),
                },
            }
        };
        match AssertUnwindSafe(running).catch_unwind().await {
            Ok(outcome) => outcome,
            Err(panic) => Err(ToolError::of(
                FailureKind::Panic,
                format!("the tool panicked: {}", panic_text(&*panic)),
            )),
        }
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

    /// Returns the result for the model, and an error if the service call has to fail.
    fn result(
        &self,
        call: &ToolCall,
        outcome: Result<ToolOutput, ToolError>,
        span: &Span,
    ) -> (ToolResult, Option<Error>) {
        let error = match outcome {
            Ok(output) if output.size() > self.settings.max_result_bytes => {
                let (size, max) = (output.size(), self.settings.max_result_bytes);
                let error = Error::new(
                    ErrorKind::LimitExceeded,
                    format!(
                        "tool `{}` returned {size} bytes; at most {max} are allowed",
                        call.name()
                    ),
                );
                let result = ToolResult::new(call.id(), call.name(), "the result is too large");
                return (result.into_error(), Some(error));
            }
            Ok(output) => {
                let result = ToolResult::of(call.id().into(), call.name().into(), output.contents);
                return (result.with_attributes_if_any(output.attributes), None);
            }
            Err(error) => error,
        };
        span.record("error.type", field::debug(error.failure));
        let message = match (error.failure, self.settings.error) {
            (FailureKind::Tool | FailureKind::Timeout, ToolErrorPolicy::Conceal) => {
                "the tool failed"
            }
            _ => error.text_for_model(),
        };
        let result = ToolResult::new(call.id(), call.name(), message).into_error();
        let failure = self.must_fail(error.failure).then(|| {
            Error::new(ErrorKind::Tool, format!("tool `{}` failed: {error}", call.name()))
                .with_source(error)
        });
        (result, failure)
    }

    /// Returns `true` if a failure of this kind fails the service call.
    fn must_fail(&self, failure: FailureKind) -> bool {
        match failure {
            FailureKind::UnknownTool => self.settings.unknown_tool == UnknownToolPolicy::Fail,
            FailureKind::Arguments => self.settings.arguments == ToolArgumentsPolicy::Fail,
            FailureKind::Fatal => true,
            FailureKind::Tool
            | FailureKind::Concealed
            | FailureKind::Timeout
            | FailureKind::Panic => self.settings.error == ToolErrorPolicy::Fail,
        }
    }
}

fn timed_out(timeout: Duration) -> ToolError {
    let message = format!("the tool took longer than {timeout:?} and was stopped");
    ToolError::of(FailureKind::Timeout, message)
}
