//! Execution of the tool calls of one answer, with a log that outlives the process.

use super::checkpoint::Checkpoints;
use super::effect::{CallState, Effect};
use super::error::ToolError;
use super::lost_effect::LostEffect;
use super::run::{Attempt, Runner, ToolRun, with_unknown_outcome};
use crate::approval::{Awaited, Continuation, Decision, NextAttempt, Suspension};
use crate::boxed;
use crate::error::{Error, ErrorKind, Result};
use crate::invocation::ToolExecution;
use crate::message::{ToolCall, ToolResult};
use async_trait::async_trait;
use futures_util::future::{Either, select};
use futures_util::stream::{self, StreamExt};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

/// The log of the tool calls of one round.
#[doc(hidden)]
#[async_trait]
pub trait ToolLog: Send + Sync {
    /// Returns the state of a call in the log of an earlier process.
    fn prior(&self, index: usize) -> PriorCall;

    /// Returns the decision about a call that needed approval.
    fn decision(&self, index: usize) -> Option<&Decision>;

    /// Records that these calls may take effect from now on. None of them starts if this fails.
    async fn start(&self, calls: &[StartedCall]) -> Result<()>;

    /// Records the result of a call.
    async fn finish(&self, index: usize, execution: &ToolExecution, effect: &Effect) -> Result<()>;

    /// Returns `true` if calls may wait for answers of the user, or for work elsewhere.
    fn can_suspend(&self) -> bool {
        false
    }

    /// Records that a call waits, or the state with which it goes on if its process ends now.
    async fn record_suspension(&self, _index: usize, _suspension: &Suspension) -> Result<()> {
        Ok(())
    }
}

/// The state of a call in the log of an earlier process.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub enum PriorCall {
    /// The call may not have taken effect.
    NotStarted,
    /// The call may have taken effect, and has no result.
    Started {
        /// The number of attempts so far.
        attempts: u32,
        /// The state from which the last attempt went on.
        continuation: Option<Arc<Continuation>>,
    },
    /// The call was suspended. It is continued by another attempt.
    Suspended {
        /// The number of attempts so far.
        attempts: u32,
        /// The state from which the next attempt goes on.
        continuation: Option<Arc<Continuation>>,
    },
    /// The call waits for answers of the user, which were not given.
    Waiting(Awaited),
    /// The call has a result.
    Finished(ToolExecution),
}

/// A call that is about to take effect.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartedCall {
    /// The index of the call in the answer of the model.
    pub index: usize,
    /// The number of this attempt, from 1.
    pub attempt: u32,
}

/// Runs the tools of one round, and logs each call before it may take effect and after its end.
#[doc(hidden)]
#[allow(missing_debug_implementations, reason = "a log has nothing to show")]
pub struct LoggedRunner<'a> {
    /// Runs the tools.
    pub runner: Runner<'a>,
    /// The log.
    pub log: &'a dyn ToolLog,
}

/// The next step of a call.
enum Step {
    /// The log of an earlier process has the result.
    Recorded(ToolExecution),
    /// The outcome was found without another attempt.
    Settled(ToolExecution),
    /// The call waits for answers of the user.
    Waits(ToolCall, Box<Awaited>),
    Run(Run),
}

/// An attempt that is about to start.
struct Run {
    call: ToolCall,
    attempt: u32,
    continuation: Option<Arc<Continuation>>,
}

impl LoggedRunner<'_> {
    /// Runs the calls of one answer that have no result in the log.
    ///
    /// Fails with the error of the log in [`ToolRun::failure`]. The other calls of the group are then dropped.
    #[doc(hidden)]
    pub async fn run(&self, calls: &[ToolCall]) -> ToolRun {
        let mut run = ToolRun::new(calls.len());
        while let Some(rest @ [_, ..]) = calls.get(run.executions.len()..) {
            let first = run.executions.len();
            if let Err(error) = self.run_group(first, self.runner.next_group(rest), &mut run).await
            {
                run.failure = Some(error);
                return run;
            }
            if run.failure.as_ref().is_some_and(|error| suspension(error).is_some()) {
                // The calls after a sequential tool wait for its end.
                return run;
            }
        }
        self.runner.complete(run, calls)
    }

    async fn run_group(&self, first: usize, group: &[ToolCall], run: &mut ToolRun) -> Result<()> {
        let concurrency = self.runner.concurrency();
        let mut deciding = Vec::with_capacity(group.len());
        for (index, call) in (first..).zip(group) {
            deciding.push(self.next_step(index, call));
        }
        let steps: Vec<Step> = stream::iter(deciding).buffered(concurrency).collect().await;
        let started: Vec<StartedCall> =
            (first..).zip(&steps).filter_map(|(index, step)| self.started(index, step)).collect();
        self.log.start(&started).await?;
        let mut running = Vec::with_capacity(group.len());
        for (index, step) in (first..).zip(steps) {
            // The streams below move their futures several times.
            running.push(boxed(|| self.carry_out(index, step)));
        }
        let mut running = stream::iter(running).buffered(concurrency);
        while let Some(outcome) = running.next().await {
            let (execution, failure) = outcome?;
            if let Some(Suspension::Awaits(awaited)) = failure.as_ref().and_then(suspension) {
                run.awaited.push((run.executions.len(), awaited.clone()));
            }
            run.add((execution, failure));
        }
        Ok(())
    }

    /// Decides from the log, the effect of the tool and its verifier if the call has to run.
    async fn next_step(&self, index: usize, call: &ToolCall) -> Step {
        let (attempts, continuation, is_lost) = match self.log.prior(index) {
            PriorCall::Finished(execution) => return Step::Recorded(execution),
            PriorCall::Waiting(awaited) => return Step::Waits(call.clone(), Box::new(awaited)),
            PriorCall::NotStarted => (0, None, false),
            PriorCall::Suspended { attempts, continuation } => (attempts, continuation, false),
            PriorCall::Started { attempts, continuation } => (attempts, continuation, true),
        };
        let decision = self.log.decision(index).unwrap_or(&Decision::Approve);
        if let Some(result) = decision.result(call) {
            return Step::Settled(ToolExecution::new(call, result, Duration::ZERO));
        }
        let call = decision.approved(call).unwrap_or_else(|| call.clone());
        let run = Run { call, attempt: attempts.saturating_add(1), continuation };
        if !is_lost {
            return Step::Run(run);
        }
        self.after_lost_result(index, run).await
    }

    /// Decides about a call that may have taken effect, and has no result.
    async fn after_lost_result(&self, index: usize, run: Run) -> Step {
        let call = &run.call;
        let Some(tool) = self.runner.toolbox.get(call.name()) else { return unknown(call) };
        match tool.effect() {
            Effect::ReadOnly | Effect::Idempotent => Step::Run(run),
            Effect::AtMostOnce => unknown(call),
            Effect::Verifiable(_) => {
                let last = Attempt::new(index, call, run.attempt.saturating_sub(1));
                match self.runner.state_of(tool, last).await {
                    CallState::NotExecuted => Step::Run(run),
                    CallState::Executed(output) => {
                        let settled = self.runner.execution(call, Ok(output), Duration::ZERO);
                        Step::Settled(settled.0)
                    }
                    CallState::Unknown => unknown(call),
                }
            }
        }
    }

    /// Returns the log entry of a call that is about to take effect.
    fn started(&self, index: usize, step: &Step) -> Option<StartedCall> {
        match step {
            Step::Run(run) if self.has_effect(&run.call) && !run.only_observes() => {
                Some(StartedCall { index, attempt: run.attempt })
            }
            Step::Run(_) | Step::Recorded(_) | Step::Settled(_) | Step::Waits(..) => None,
        }
    }

    /// Returns `false` for a tool that only reads, and for a call that no tool answers.
    fn has_effect(&self, call: &ToolCall) -> bool {
        !matches!(self.effect(call), Effect::ReadOnly)
    }

    fn effect(&self, call: &ToolCall) -> &Effect {
        self.runner.toolbox.get(call.name()).map_or(&Effect::ReadOnly, |tool| tool.effect())
    }

    async fn carry_out(&self, index: usize, step: Step) -> Result<(ToolExecution, Option<Error>)> {
        let (execution, failure) = match step {
            Step::Recorded(execution) => return Ok((execution, None)),
            Step::Settled(execution) => {
                self.runner.observer.tool_finished(&execution);
                (execution, None)
            }
            Step::Waits(call, awaited) => {
                let error = ToolError::suspended(Suspension::Awaits(*awaited));
                return Ok(self.runner.execution(&call, Err(error), Duration::ZERO));
            }
            Step::Run(run) => {
                let (execution, failure) = self.attempt(index, &run).await?;
                let is_edited = matches!(self.log.decision(index), Some(Decision::Edit(_)));
                (if is_edited { with_note(&execution) } else { execution }, failure)
            }
        };
        if let Some(suspension) = failure.as_ref().and_then(suspension) {
            self.log.record_suspension(index, suspension).await?;
            return Ok((execution, failure));
        }
        let effect = self.effect(execution.call());
        self.log.finish(index, &execution, effect).await?;
        Ok((execution, failure))
    }
}

impl LoggedRunner<'_> {
    /// Makes an attempt at a call.
    async fn attempt(&self, index: usize, run: &Run) -> Result<(ToolExecution, Option<Error>)> {
        let mut attempt = Attempt::new(index, &run.call, run.attempt);
        attempt.continuation = run.continuation.as_ref();
        let suspends = self.log.can_suspend()
            && self.runner.toolbox.get(run.call.name()).is_some_and(|tool| tool.0.suspends);
        if suspends {
            // Few tools do. Without the box, the future of every call would have room for it.
            return boxed(|| self.attempt_with_checkpoints(index, attempt)).await;
        }
        Ok(self.runner.run_one(attempt).await)
    }

    /// Makes an attempt at a call, and records the states that the tool reports meanwhile.
    async fn attempt_with_checkpoints(
        &self,
        index: usize,
        mut attempt: Attempt<'_>,
    ) -> Result<(ToolExecution, Option<Error>)> {
        let (checkpoints, mut reported) = Checkpoints::new();
        attempt.checkpoints = Some(&checkpoints);
        let mut running = pin!(self.runner.run_one(attempt));
        loop {
            let checkpoint = match select(pin!(reported.recv()), running.as_mut()).await {
                Either::Left((checkpoint, _)) => checkpoint,
                Either::Right((outcome, _)) => return Ok(outcome),
            };
            if let Some(checkpoint) = checkpoint {
                let state = Suspension::Awaits(checkpoint.awaited.clone());
                self.log.record_suspension(index, &state).await?;
                checkpoint.confirm();
            }
        }
    }
}

impl Run {
    /// Returns `true` if the attempt has no effect of its own.
    fn only_observes(&self) -> bool {
        let attempt = self.continuation.as_ref().map(|continuation| continuation.attempt);
        attempt == Some(NextAttempt::Observes)
    }
}

/// Returns the reason why a call is suspended.
fn suspension(error: &Error) -> Option<&Suspension> {
    error.detail().filter(|_| error.kind() == ErrorKind::Suspended)
}

/// Returns the execution of a call that may or may not have taken effect, and must not be repeated.
fn unknown(call: &ToolCall) -> Step {
    let text = LostEffect::Unknown.result("the process ended while the tool ran");
    let result = ToolResult::new(call.id(), call.name(), text).into_error();
    Step::Settled(with_unknown_outcome(ToolExecution::new(call, result, Duration::ZERO)))
}

/// Adds the edited arguments to a result: the model knows only its own.
fn with_note(execution: &ToolExecution) -> ToolExecution {
    let (call, result) = (execution.call(), execution.result());
    let note = format!("The call was approved with these arguments: {}", call.arguments());
    // A result of one text stays one, so that it is read as before.
    let mut noted = match result.text() {
        Some(text) => ToolResult::new(result.id(), result.tool_name(), format!("{text}\n\n{note}")),
        None => {
            let contents = result.contents().iter().cloned().chain([note.into()]);
            ToolResult::from_contents(result.id(), result.tool_name(), contents)
        }
    };
    if result.is_error() {
        noted = noted.into_error();
    }
    if let Some(attributes) = result.attributes() {
        noted = noted.with_attributes(attributes.clone());
    }
    let noted = ToolExecution::new(call, noted, execution.duration());
    if execution.has_unknown_outcome() { noted.with_unknown_outcome() } else { noted }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::invocation::TurnId;
    use crate::model::ToolSpecification;
    use crate::tool::{
        CancellationToken, Tool, ToolContext, ToolInput, ToolObserver, ToolOutput, ToolProgress,
        ToolSettings, Toolbox,
    };
    use std::sync::{Arc, Mutex};

    struct Silent;

    impl ToolObserver for Silent {
        fn tool_started(&self, _: &ToolCall) {}
        fn tool_progressed(&self, _: &ToolCall, _: &ToolProgress) {}
        fn tool_finished(&self, _: &ToolExecution) {}
    }

    /// Records no result.
    struct Full;

    #[async_trait]
    impl ToolLog for Full {
        fn prior(&self, _: usize) -> PriorCall {
            PriorCall::NotStarted
        }

        fn decision(&self, _: usize) -> Option<&Decision> {
            None
        }

        async fn start(&self, _: &[StartedCall]) -> Result<()> {
            Ok(())
        }

        async fn finish(&self, _: usize, _: &ToolExecution, _: &Effect) -> Result<()> {
            Err(Error::new(ErrorKind::Store, "the disk is full"))
        }
    }

    #[tokio::test]
    async fn failure_of_the_log_cancels_the_other_calls() {
        let token = Arc::new(Mutex::new(None::<CancellationToken>));
        let kept = Arc::clone(&token);
        let hang =
            Tool::from_fn(ToolSpecification::new("hang", "Hangs."), move |call: ToolInput| {
                *kept.lock().unwrap() = Some(call.cancellation());
                std::future::pending()
            });
        let quick = Tool::from_fn(ToolSpecification::new("quick", "Ends."), |_| async {
            tokio::task::yield_now().await;
            Ok(ToolOutput::text("done"))
        });
        let runner = Runner {
            toolbox: &Toolbox::new(vec![quick, hang]).unwrap(),
            turn: TurnId::from_u128(7),
            round: 1,
            context: &ToolContext::default(),
            settings: &ToolSettings::default(),
            observer: &Silent,
            deadline: None,
        };
        let calls = ["quick", "hang"].map(|name| ToolCall::new(name, name, "{}"));
        let run = LoggedRunner { runner, log: &Full }.run(&calls).await;
        assert!(run.failure.is_some());
        assert!(token.lock().unwrap().as_ref().unwrap().is_cancelled());
    }
}
