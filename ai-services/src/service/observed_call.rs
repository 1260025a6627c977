//! The events at the start and the end of a call.

use super::call::ServiceCall;
use super::response::Reply;
use crate::Result;
use crate::event::Event;

/// A call whose start, and whose end in any case, is reported to the listeners.
pub(super) struct ObservedCall<'a>(&'a ServiceCall);

impl<'a> ObservedCall<'a> {
    pub(super) fn start(call: &'a ServiceCall) -> Self {
        call.emit(&Event::Started);
        Self(call)
    }

    /// Reports the outcome.
    pub(super) fn end<T>(self, outcome: &Result<T>, reply: &dyn Reply) {
        let call = self.0;
        std::mem::forget(self);
        match outcome {
            Ok(_) => call.emit(&Event::Completed { usage: &reply.usage() }),
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
        self.0.emit(&Event::Cancelled);
    }
}
