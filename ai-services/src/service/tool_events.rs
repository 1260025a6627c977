//! The events of tool calls.

use super::call::ServiceCall;
use super::stream::StreamItem;
use crate::event::Event;
use crate::message::ToolCall;
use crate::tool::{ToolExecution, ToolObserver, ToolProgress, Toolbox};

/// Sends the events of the tool calls of one round to the listeners and the stream.
pub(super) struct ToolEvents<'a> {
    call: &'a ServiceCall,
    results: ResultDelivery,
}

/// Delivery of tool results to the stream.
enum ResultDelivery {
    Live,
    /// The results may be an answer, which is delivered after it passed all checks.
    AfterCheck,
}

impl<'a> ToolEvents<'a> {
    pub(super) fn new(call: &'a ServiceCall, toolbox: &Toolbox, tool_calls: &[ToolCall]) -> Self {
        let may_be_answer = call.delivery.after_check().is_some() && toolbox.answers(tool_calls);
        let results = if may_be_answer { ResultDelivery::AfterCheck } else { ResultDelivery::Live };
        Self { call, results }
    }

    /// Delivers the results that were held back, because they are not the answer.
    pub(super) fn release(&self, executions: &[ToolExecution]) {
        if let ResultDelivery::AfterCheck = self.results {
            emit_finished(self.call, executions);
        }
    }
}

impl ToolObserver for ToolEvents<'_> {
    fn tool_started(&self, call: &ToolCall) {
        self.call.emit(&Event::ToolStarted { call });
        self.call.delivery.emit(|| StreamItem::ToolStarted(call.clone()));
    }

    fn tool_progressed(&self, call: &ToolCall, progress: &ToolProgress) {
        self.call.emit(&Event::ToolProgressed { call, progress });
        self.call.delivery.emit(|| StreamItem::ToolProgressed(call.clone(), progress.clone()));
    }

    fn tool_finished(&self, execution: &ToolExecution) {
        self.call.emit(&Event::ToolFinished { execution });
        if let ResultDelivery::Live = self.results {
            emit_finished(self.call, std::slice::from_ref(execution));
        }
    }

    /// A call that waits has no result for the stream. It has one when the turn is resumed.
    fn tool_suspended(&self, execution: &ToolExecution) {
        self.call.emit(&Event::ToolFinished { execution });
    }
}

/// Adds finished tool calls to the stream.
pub(super) fn emit_finished(call: &ServiceCall, executions: &[ToolExecution]) {
    for execution in executions {
        call.delivery.emit(|| StreamItem::ToolFinished(Box::new(execution.clone())));
    }
}
