//! Telling what the tools of one answer do.

use super::invocation::Invocation;
use super::stream::Progress;
use crate::event::Event;
use crate::invocation::ToolExecution;
use crate::message::ToolCall;
use crate::tool::{Observer, Toolbox};

/// Tells listeners and the stream what tools do.
pub(super) struct Watch<'a> {
    invocation: &'a Invocation<'a>,
    /// Whether the results may be an answer that has to be checked before the stream tells it.
    holds_results: bool,
}

impl<'a> Watch<'a> {
    pub(super) fn new(
        invocation: &'a Invocation<'a>,
        toolbox: &Toolbox,
        calls: &[ToolCall],
    ) -> Self {
        let holds_results = invocation.held_outlet().is_some() && toolbox.answers(calls);
        Self { invocation, holds_results }
    }

    /// Tells the results that were held back: they turned out to be no answer.
    pub(super) fn release(&self, executions: &[ToolExecution]) {
        if self.holds_results {
            tell_finished(self.invocation, executions);
        }
    }
}

impl Observer for Watch<'_> {
    fn tool_started(&self, call: &ToolCall) {
        self.invocation.emit(&Event::ToolStarted { call });
        self.invocation.tell(|| Progress::ToolStarted(call.clone()));
    }

    fn tool_finished(&self, execution: &ToolExecution) {
        self.invocation.emit(&Event::ToolFinished { execution });
        if !self.holds_results {
            tell_finished(self.invocation, std::slice::from_ref(execution));
        }
    }
}

/// Tells that tools have run.
pub(super) fn tell_finished(invocation: &Invocation<'_>, executions: &[ToolExecution]) {
    for execution in executions {
        invocation.tell(|| Progress::ToolFinished(Box::new(execution.clone())));
    }
}
