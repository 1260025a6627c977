//! The tool calls of a turn, under ids of the stream.

use crate::interrupt_id::InterruptId;
use ai_services_core::approval::{PendingCall, PendingTurn};
use ai_services_core::message::ToolCall;
use ai_services_core::model::ToolCallDelta;
use std::collections::VecDeque;
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
    /// `true` until the model writes in the stream of a resumed turn: an earlier stream has sent the current answer.
    is_resumed: bool,
    /// Ids of further calls of that answer.
    open_ids: VecDeque<Arc<str>>,
}

/// A call of a resumed turn, which an earlier stream has sent.
#[derive(Debug)]
pub(crate) struct ResumedCall {
    pub(crate) id: String,
    pub(crate) tool: String,
    pub(crate) arguments: String,
    pub(crate) decided: DecidedCall,
}

/// The part of a decision that the stream of a resumed turn depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DecidedCall {
    AsWritten,
    Edited(String),
    Denied,
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
    /// The decision about a call of a resumed turn that has not started in this stream.
    resumed: Option<DecidedCall>,
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
        Self {
            prefix: Uuid::new_v4().simple().to_string(),
            count: 0,
            calls: Vec::new(),
            is_resumed: false,
            open_ids: VecDeque::new(),
        }
    }

    /// Creates the tracker of a resumed turn. `open_ids` are the ids of the other calls of the same answer.
    pub(crate) fn resumed(calls: Vec<ResumedCall>, open_ids: Vec<String>) -> Self {
        let calls = calls.into_iter().map(|resumed| TrackedCall {
            id: resumed.id.into(),
            name: resumed.tool.as_str().into(),
            index: None,
            call: Some(ToolCall::new("", resumed.tool, resumed.arguments)),
            has_result: false,
            resumed: Some(resumed.decided),
        });
        let open_ids = open_ids.into_iter().map(Arc::from).collect();
        Self { calls: calls.collect(), is_resumed: true, open_ids, ..Self::new() }
    }

    /// Returns `true` until the model writes in the stream of a resumed turn.
    pub(crate) fn is_resumed(&self) -> bool {
        self.is_resumed
    }

    /// Notes that the model writes. Returns `true` if this is a further answer, because calls of the last one have run.
    pub(crate) fn model_writes(&mut self) -> bool {
        let is_further = self.is_resumed || self.calls.iter().any(|call| call.has_result);
        if is_further {
            self.is_resumed = false;
            self.calls.clear();
            self.open_ids.clear();
        }
        is_further
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
        let waits = |known: &&mut TrackedCall| {
            known.resumed.as_ref().is_some_and(|decided| *decided != DecidedCall::Denied)
                && known.is_running(call)
        };
        if let Some(known) = self.calls.iter_mut().find(waits) {
            known.call = Some(call.clone());
            known.resumed = None;
            return (Arc::clone(&known.id), Sent::Whole);
        }
        if let Some(id) = self.open_ids.pop_front() {
            self.push(Arc::clone(&id), call.name(), None, Some(call.clone()));
            return (id, Sent::Whole);
        }
        (self.add(call.name(), None, Some(call.clone())), Sent::Nothing)
    }

    /// Returns the ids of the calls that wait, the parts that the client has, and their ids as interrupts.
    pub(crate) fn interrupts(
        &mut self,
        conversation: &str,
        pending: &PendingTurn,
    ) -> Vec<(Arc<str>, Sent, InterruptId)> {
        let waiting: Vec<_> = pending.calls.iter().map(|call| self.waiting(call)).collect();
        let is_other = |id: &&Arc<str>| !waiting.iter().any(|(waiting, _)| waiting == *id);
        let calls = self.calls.iter().filter(|call| !call.has_result && call.call.is_some());
        let open_ids = calls.map(|call| &call.id).chain(&self.open_ids).filter(is_other);
        let open_ids: Vec<String> = open_ids.map(|id| id.to_string()).collect();
        let calls = waiting.into_iter().zip(&pending.calls).enumerate();
        let interrupt = calls.map(|(index, ((id, sent), call))| {
            let (place, ids) = ((index, &call.waits_for), (&*id, &*open_ids));
            let interrupt = InterruptId::new(conversation, pending, place, ids);
            (id, sent, interrupt)
        });
        interrupt.collect()
    }

    /// Returns the id of a call that waits. It may have started.
    fn waiting(&mut self, pending: &PendingCall) -> (Arc<str>, Sent) {
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

    /// Returns `true` if the client has denied the call.
    pub(crate) fn is_denied(&self, id: &str) -> bool {
        let is_denied = |call: &&TrackedCall| call.resumed == Some(DecidedCall::Denied);
        self.calls.iter().filter(is_denied).any(|call| &*call.id == id)
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
        self.push(Arc::clone(&id), name, index, call);
        id
    }

    fn push(&mut self, id: Arc<str>, name: &str, index: Option<usize>, call: Option<ToolCall>) {
        let known =
            TrackedCall { id, name: name.into(), index, call, has_result: false, resumed: None };
        self.calls.push(known);
    }
}

impl TrackedCall {
    fn is_running(&self, call: &ToolCall) -> bool {
        let Some(known) = self.call.as_ref().filter(|_| !self.has_result) else { return false };
        match &self.resumed {
            None => known == call,
            // The provider's id of the call is not known.
            Some(decided) => {
                let arguments = match decided {
                    DecidedCall::Edited(arguments) => arguments,
                    DecidedCall::AsWritten | DecidedCall::Denied => known.arguments(),
                };
                known.name() == call.name() && arguments == call.arguments()
            }
        }
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

    fn resumed(id: &str, name: &str, decided: DecidedCall) -> ResumedCall {
        let (tool, arguments) = (name.to_owned(), "{}".to_owned());
        ResumedCall { id: id.to_owned(), tool, arguments, decided }
    }

    #[test]
    fn calls_of_a_resumed_turn_keep_their_ids() {
        let edited = DecidedCall::Edited(r#"{"x":1}"#.to_owned());
        let calls = vec![
            resumed("0", "a", DecidedCall::AsWritten),
            resumed("1", "a", DecidedCall::AsWritten),
            resumed("2", "b", edited),
            resumed("3", "c", DecidedCall::Denied),
        ];
        let mut tracker = ToolTracker::resumed(calls, vec!["4".to_owned()]);
        let whole = |tracker: &mut ToolTracker, call: &ToolCall| {
            let (id, sent) = tracker.whole(call);
            assert_eq!(sent, Sent::Whole, "the client has the call");
            id.to_string()
        };
        assert_eq!(whole(&mut tracker, &call("a")), "0");
        assert_eq!(whole(&mut tracker, &call("a")), "1");
        assert_eq!(whole(&mut tracker, &ToolCall::new("call_0", "b", r#"{"x":1}"#)), "2");
        assert_eq!(whole(&mut tracker, &call("free")), "4");
        assert_eq!(&*tracker.result(&call("a")).0, "0");
        assert_eq!(&*tracker.result(&call("a")).0, "1");
        let (denied, sent) = tracker.result(&call("c"));
        assert_eq!((&*denied, sent), ("3", Sent::Whole));
        assert!(tracker.is_denied(&denied) && !tracker.is_denied("0"));
        assert!(tracker.model_writes());
        assert_eq!(tracker.whole(&call("a")).1, Sent::Nothing);
    }

    #[test]
    fn interrupts_contain_the_ids_of_the_other_open_calls() {
        let mut tracker = ToolTracker::new();
        let ids = ["a", "b", "c"].map(|name| tracker.whole(&call(name)).0);
        tracker.result(&call("a"));
        let pending = PendingTurn::new(
            &"ann".into(),
            "00000000000000000000000000000007:3".parse().unwrap(),
            vec![PendingCall::unspecified(&call("b"))],
            u64::MAX,
        );
        let interrupts = tracker.interrupts("x", &pending);
        let [(id, sent, interrupt)] = &interrupts[..] else { panic!("{interrupts:?}") };
        assert_eq!((id, *sent), (&ids[1], Sent::Whole));
        assert_eq!(interrupt.call_id, &*ids[1]);
        assert_eq!(interrupt.open_ids, [ids[2].to_string()]);
        assert_eq!(interrupt.position, pending.position);
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
