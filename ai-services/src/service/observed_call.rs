//! The events at the start and the end of a call.

use super::call::ServiceCall;
use super::response::Reply;
use crate::Result;
use crate::event::Event;
use tracing::Span;

/// A call whose start, and whose end in any case, is reported to the listeners.
pub(super) struct ObservedCall<'a> {
    call: &'a ServiceCall,
    /// A future that is dropped is no longer within its span.
    span: Option<Span>,
}

impl<'a> ObservedCall<'a> {
    pub(super) fn start(call: &'a ServiceCall) -> Self {
        call.emit(&Event::Started);
        let (system, user) = (call.prompts.system.as_ref(), &call.prompts.user);
        call.emit(&Event::PromptsRendered { system, user });
        Self { call, span: call.has_listeners().then(Span::current) }
    }

    /// Reports the outcome.
    pub(super) fn end<T>(mut self, outcome: &Result<T>, reply: &dyn Reply) {
        if self.span.take().is_none() {
            return;
        }
        let call = self.call;
        match outcome {
            Ok(_) => {
                let (usage, cost) = (&reply.usage(), reply.cost());
                call.emit(&Event::Completed { usage, cost: cost.as_ref() });
            }
            Err(error) => match error.detail() {
                Some(pending) => call.emit(&Event::Suspended { pending }),
                None => call.emit(&Event::Failed { error }),
            },
        }
    }
}

/// Emits [`Event::Cancelled`] if the future of the call is dropped.
impl Drop for ObservedCall<'_> {
    fn drop(&mut self) {
        if let Some(span) = self.span.take() {
            self.call.emit_in(&span, &Event::Cancelled);
        }
    }
}
