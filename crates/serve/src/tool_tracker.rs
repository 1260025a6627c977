//! The tool calls of a turn, under ids of the stream.

use ai_services_core::approval::PendingCall;
use ai_services_core::message::ToolCall;
use ai_services_core::model::ToolCallDelta;
use std::sync::Arc;
use uuid::Uuid;

/// Gives each tool call of a turn an id of its own.
///
/// Ids of providers repeat: some are empty, some count from 0 in each answer. Clients keep the calls of a whole
/// conversation by id.
pub(crate) struct ToolTracker {
    prefix: String,
    /// Number of calls of the turn so far.
    count: usize,
    /// The calls of the current answer of the model.
    calls: Vec<TrackedCall>,
}

/// A tool call of the current answer.
struct TrackedCall {
    id: Arc<str>,
    name: Box<str>,
    /// Index of a call that the model has begun to write.
    index: Option<usize>,
    /// The call, once it is known whole.
    call: Option<ToolCall>,
    has_result: bool,
}

/// The part of a call that the client has already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    Nothing,
    /// The name, and pieces of the arguments.
    Parts,
    /// The name and the arguments.
    Whole,
}

impl ToolTracker {
    pub(crate) fn new() -> Self {
        Self { prefix: Uuid::new_v4().simple().to_string(), count: 0, calls: Vec::new() }
    }

    /// Notes that the model writes. Returns `true` if this is a further answer, because calls of the last one have run.
    pub(crate) fn model_writes(&mut self) -> bool {
        let has_run = self.calls.iter().any(|call| call.has_result);
        if has_run {
            self.calls.clear();
        }
        has_run
    }

    /// Returns the id of the call of a piece.
    pub(crate) fn piece(&mut self, delta: &ToolCallDelta) -> (Arc<str>, Sent) {
        if let Some(known) = self.calls.iter().find(|call| call.index == Some(delta.index)) {
            return (Arc::clone(&known.id), Sent::Parts);
        }
        let name = delta.name.as_deref().unwrap_or_default();
        (self.add(name, Some(delta.index), None), Sent::Nothing)
    }

    /// Returns the id of a call that is now known whole. Equal calls of one answer are different calls.
    pub(crate) fn whole(&mut self, call: &ToolCall) -> (Arc<str>, Sent) {
        let is_in_parts =
            |known: &&mut TrackedCall| known.call.is_none() && *known.name == *call.name();
        if let Some(known) = self.calls.iter_mut().find(is_in_parts) {
            known.call = Some(call.clone());
            return (Arc::clone(&known.id), Sent::Parts);
        }
        (self.add(call.name(), None, Some(call.clone())), Sent::Nothing)
    }

    /// Returns the id of a call that waits. It may have started.
    pub(crate) fn waiting(&mut self, pending: &PendingCall) -> (Arc<str>, Sent) {
        let waits = |known: &&TrackedCall| {
            let call = known.call.as_ref().filter(|_| !known.has_result);
            call.is_some_and(|call| {
                call.name() == pending.tool && call.arguments() == pending.arguments
            })
        };
        match self.calls.iter().find(waits) {
            Some(known) => (Arc::clone(&known.id), Sent::Whole),
            None => self.whole(&ToolCall::new("", &*pending.tool, &*pending.arguments)),
        }
    }

    /// Returns the id of a whole call that has no result yet.
    pub(crate) fn running(&self, call: &ToolCall) -> Option<Arc<str>> {
        self.calls.iter().find(|known| known.is_running(call)).map(|known| Arc::clone(&known.id))
    }

    /// Returns the id of a call that has a result now.
    pub(crate) fn result(&mut self, call: &ToolCall) -> (Arc<str>, Sent) {
        let sent = match self.running(call) {
            Some(_) => Sent::Whole,
            // The call has not started, for example because there is no such tool.
            None => self.whole(call).1,
        };
        let running = self.calls.iter_mut().find(|known| known.is_running(call));
        let id = running.map(|known| {
            known.has_result = true;
            Arc::clone(&known.id)
        });
        (id.unwrap_or_default(), sent)
    }

    /// Returns the ids of the calls whose arguments were not sent whole.
    pub(crate) fn unfinished(&self) -> impl Iterator<Item = &str> {
        self.calls.iter().filter(|call| call.call.is_none()).map(|call| &*call.id)
    }

    fn add(&mut self, name: &str, index: Option<usize>, call: Option<ToolCall>) -> Arc<str> {
        let id: Arc<str> = format!("call_{}_{}", self.prefix, self.count).into();
        self.count += 1;
        let known =
            TrackedCall { id: Arc::clone(&id), name: name.into(), index, call, has_result: false };
        self.calls.push(known);
        id
    }
}

impl TrackedCall {
    fn is_running(&self, call: &ToolCall) -> bool {
        !self.has_result && self.call.as_ref() == Some(call)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str) -> ToolCall {
        ToolCall::new("call_0", name, "{}")
    }

    #[test]
    fn equal_calls_have_ids_of_their_own() {
        let mut tracker = ToolTracker::new();
        let (first, sent) = tracker.whole(&call("a"));
        assert_eq!(sent, Sent::Nothing);
        let (second, _) = tracker.whole(&call("a"));
        assert_ne!(first, second);
        let results = [tracker.result(&call("a")), tracker.result(&call("a"))];
        assert_eq!(results, [(first, Sent::Whole), (second, Sent::Whole)]);
    }

    #[test]
    fn call_keeps_the_id_of_its_pieces() {
        let mut tracker = ToolTracker::new();
        let mut piece = ToolCallDelta::new(0);
        piece.name = Some("a".into());
        let (id, sent) = tracker.piece(&piece);
        assert_eq!(sent, Sent::Nothing);
        assert_eq!(tracker.piece(&ToolCallDelta::new(0)), (Arc::clone(&id), Sent::Parts));
        assert_eq!(tracker.unfinished().collect::<Vec<_>>(), [&*id]);
        assert_eq!(tracker.whole(&call("a")), (id, Sent::Parts));
        assert_eq!(tracker.unfinished().count(), 0);
    }

    #[test]
    fn call_that_waits_in_the_middle_is_the_one_that_started() {
        let mut tracker = ToolTracker::new();
        let (id, _) = tracker.whole(&call("a"));
        let pending = PendingCall::unspecified(&call("a"));
        assert_eq!(tracker.waiting(&pending), (id, Sent::Whole));
        let other = PendingCall::unspecified(&call("b"));
        assert_eq!(tracker.waiting(&other).1, Sent::Nothing);
    }

    #[test]
    fn result_without_a_start_is_a_new_call() {
        let mut tracker = ToolTracker::new();
        let (_, sent) = tracker.result(&call("unknown"));
        assert_eq!(sent, Sent::Nothing);
        assert!(tracker.model_writes());
        assert!(!tracker.model_writes());
    }
}
