//! Running the tool calls of one answer.

use super::Order;
use super::error::{Failure, ToolError};
use super::input::{Surroundings, ToolInput};
use super::output::ToolOutput;
use super::policy::{ToolArgumentsPolicy, ToolErrorPolicy, ToolPolicies, UnknownToolPolicy};
use super::toolbox::Toolbox;
use crate::error::{Error, ErrorKind, Result, panic_text};
use crate::invocation::ToolExecution;
use crate::message::{ToolCall, ToolResult};
use futures_util::future::FutureExt;
use futures_util::stream::{self, StreamExt};
use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};
use tracing::{Instrument, Span, field};

/// Is told when a tool starts and ends.
pub trait Observer: Sync {
    fn tool_started(&self, call: &ToolCall);
    fn tool_finished(&self, execution: &ToolExecution);
}

/// Runs the tools of one service call.
pub struct Runner<'a> {
    pub toolbox: &'a Toolbox,
    pub surroundings: &'a Surroundings,
    pub policies: ToolPolicies,
    pub timeout: Duration,
    pub concurrency: usize,
    pub max_result_bytes: usize,
    pub observer: &'a dyn Observer,
}

/// What the calls of one answer came to.
pub struct Ran {
    /// One execution for each call that was carried out, in the order of the calls.
    pub executions: Vec<ToolExecution>,
    /// Why the service call has to fail.
    pub failed: Option<Error>,
    /// Whether the results are the answer.
    pub is_answer: bool,
}

impl Runner<'_> {
    /// Runs the calls of one answer. Those of sequential tools run alone, the others beside each other.
    pub async fn run(&self, calls: &[ToolCall]) -> Ran {
        let mut outcomes = Vec::with_capacity(calls.len());
        let mut next = 0;
        while next < calls.len() {
            let rest = calls.get(next..).unwrap_or_default();
            match rest.split_at(self.group_len(rest).min(rest.len())).0 {
                [only] => outcomes.push(self.run_one(only).await),
                group => {
                    let mut running = Vec::with_capacity(group.len());
                    for call in group {
                        running.push(self.run_one(call));
                    }
                    let mut running = stream::iter(running).buffered(self.concurrency.max(1));
                    while let Some(outcome) = running.next().await {
                        outcomes.push(outcome);
                    }
                }
            }
            next = outcomes.len();
        }
        let is_answer = self.toolbox.answers(calls)
            && outcomes.iter().all(|(execution, _)| !execution.result().is_error());
        let mut ran =
            Ran { executions: Vec::with_capacity(outcomes.len()), failed: None, is_answer };
        for (execution, failed) in outcomes {
            ran.failed = ran.failed.or(failed);
            ran.executions.push(execution);
        }
        ran
    }

    /// How many of the calls run beside each other: up to the next one of a sequential tool.
    fn group_len(&self, calls: &[ToolCall]) -> usize {
        let concurrent = calls.iter().take_while(|call| self.order(call) == Order::Concurrent);
        concurrent.count().max(1)
    }

    fn order(&self, call: &ToolCall) -> Order {
        self.toolbox.get(call.name()).map_or(Order::Concurrent, |tool| tool.0.order)
    }

    async fn run_one(&self, call: &ToolCall) -> (ToolExecution, Option<Error>) {
        let input = ToolInput::new(call, self.surroundings);
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
        let (result, failed) = self.judge(call, outcome, &span);
        let execution = ToolExecution::new(call, result, started.elapsed());
        self.observer.tool_finished(&execution);
        (execution, failed)
    }

    async fn call(&self, call: &ToolCall, input: ToolInput) -> Result<ToolOutput, ToolError> {
        let Some(tool) = self.toolbox.get(call.name()) else {
            return Err(self.unknown_tool(call));
        };
        let timeout = tool.0.timeout.unwrap_or(self.timeout);
        // Caught around the time limit too, which needs a runtime with a timer.
        let running = async { tokio::time::timeout(timeout, tool.call(input)).await };
        match AssertUnwindSafe(running).catch_unwind().await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) => Err(ToolError::of(
                Failure::Timeout,
                format!("the tool took longer than {timeout:?} and was stopped"),
            )),
            Err(panic) => Err(ToolError::of(
                Failure::Panic,
                format!("the tool panicked: {}", panic_text(&*panic)),
            )),
        }
    }

    fn unknown_tool(&self, call: &ToolCall) -> ToolError {
        let names: Vec<&str> = self.toolbox.names().collect();
        let known = match names.is_empty() {
            true => "there are no tools".to_owned(),
            false => format!("the tools are: {}", names.join(", ")),
        };
        ToolError::of(Failure::UnknownTool, format!("there is no tool `{}`; {known}", call.name()))
    }

    /// What the model is told, and whether the call has to fail.
    fn judge(
        &self,
        call: &ToolCall,
        outcome: Result<ToolOutput, ToolError>,
        span: &Span,
    ) -> (ToolResult, Option<Error>) {
        let error = match outcome {
            Ok(output) if output.size() > self.max_result_bytes => {
                let (size, max) = (output.size(), self.max_result_bytes);
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
                let result = ToolResult::from_contents(call.id(), call.name(), output.contents);
                return (result.with_attributes_if_any(output.attributes), None);
            }
            Err(error) => error,
        };
        span.record("error.type", field::debug(error.failure));
        let told = match (error.failure, self.policies.error) {
            (Failure::Tool | Failure::Panic | Failure::Timeout, ToolErrorPolicy::Conceal) => {
                "the tool failed"
            }
            _ => error.told_to_model(),
        };
        let result = ToolResult::new(call.id(), call.name(), told).into_error();
        let failed = self.must_fail(error.failure).then(|| {
            Error::new(ErrorKind::Tool, format!("tool `{}` failed: {error}", call.name()))
                .with_source(error)
        });
        (result, failed)
    }

    fn must_fail(&self, failure: Failure) -> bool {
        match failure {
            Failure::UnknownTool => self.policies.unknown == UnknownToolPolicy::Fail,
            Failure::Arguments => self.policies.arguments == ToolArgumentsPolicy::Fail,
            Failure::Fatal => true,
            Failure::Tool | Failure::Concealed | Failure::Timeout | Failure::Panic => {
                self.policies.error == ToolErrorPolicy::Fail
            }
        }
    }
}
