//! The last turns of the services.

use crate::run::{Run, SentBody};
use ai_services_core::event::{Call, CallId, Event};
use ai_services_core::record::{TurnRecord, TurnRecorder};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Largest number of turns. The oldest ones are dropped.
const MAX_TURNS: usize = 200;
/// Largest total size of the bodies of all turns, in bytes. The oldest turns are dropped.
const MAX_BODY_BYTES: usize = 64 << 20;

/// The last turns of the services, and those that run.
#[derive(Debug, Default)]
pub(crate) struct TurnLog(Mutex<Turns>);

#[derive(Debug, Default)]
struct Turns {
    running: HashMap<CallId, Arc<Run>>,
    ended: VecDeque<Arc<LoggedTurn>>,
    body_bytes: usize,
}

/// A turn that has ended.
#[derive(Debug)]
pub(crate) struct LoggedTurn {
    pub(crate) id: String,
    pub(crate) record: TurnRecord,
    /// The bodies of its requests. Empty for a turn that another part of the program has started.
    pub(crate) bodies: Vec<SentBody>,
    /// The name under which the service is registered, for a turn of the page.
    pub(crate) service: Option<Arc<str>>,
    /// The text of the message, for a turn of the page that is not the tool of another one.
    pub(crate) text: Option<Box<str>>,
    /// The id of the turn that this one repeats.
    pub(crate) parent: Option<Arc<str>>,
}

impl LoggedTurn {
    fn body_bytes(&self) -> usize {
        self.bodies.iter().map(|body| body.bytes.len()).sum()
    }
}

impl TurnLog {
    /// Returns a listener that adds the turns of a service.
    pub(crate) fn listener(
        self: &Arc<Self>,
    ) -> impl Fn(&Call<'_>, &Event<'_>) + Send + Sync + use<> {
        let log = Arc::clone(self);
        let sink = Arc::clone(self);
        let recorder = TurnRecorder::new(move |record| sink.add(record));
        let record = recorder.listener();
        move |call: &Call<'_>, event: &Event<'_>| {
            log.observe(call, event);
            record(call, event);
        }
    }

    /// Returns the turns, the newest one first.
    pub(crate) fn turns(&self) -> Vec<Arc<LoggedTurn>> {
        self.lock().ended.iter().rev().map(Arc::clone).collect()
    }

    /// Returns a turn by its id.
    pub(crate) fn turn(&self, id: &str) -> Option<Arc<LoggedTurn>> {
        self.lock().ended.iter().find(|turn| turn.id == id).map(Arc::clone)
    }

    fn observe(&self, call: &Call<'_>, event: &Event<'_>) {
        match event {
            Event::Started => {
                if let Some(run) = Run::current() {
                    self.lock().running.insert(call.id, run);
                }
            }
            Event::RequestIssued { .. } => {
                let run = self.lock().running.get(&call.id).map(Arc::clone);
                if let Some(run) = run {
                    run.request_issued(call.id);
                }
            }
            _ => {}
        }
    }

    fn add(&self, record: TurnRecord) {
        let mut turns = self.lock();
        let run = turns.running.remove(&record.id);
        let own = run.as_ref().filter(|_| record.outer.is_none());
        let turn = LoggedTurn {
            id: record.id.to_string(),
            bodies: run.as_ref().map(|run| run.take_bodies(record.id)).unwrap_or_default(),
            service: run.as_ref().map(|run| Arc::clone(&run.service)),
            text: own.map(|run| run.text.clone()).filter(|text| !text.is_empty()),
            parent: run.and_then(|run| run.parent.clone()),
            record,
        };
        turns.body_bytes += turn.body_bytes();
        turns.ended.push_back(Arc::new(turn));
        while turns.ended.len() > MAX_TURNS
            || (turns.body_bytes > MAX_BODY_BYTES && turns.ended.len() > 1)
        {
            let Some(oldest) = turns.ended.pop_front() else { break };
            turns.body_bytes = turns.body_bytes.saturating_sub(oldest.body_bytes());
        }
    }

    fn lock(&self) -> MutexGuard<'_, Turns> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oldest_turns_are_dropped() {
        let log = TurnLog::default();
        let ids: Vec<CallId> = (0..=MAX_TURNS).map(|_| CallId::new()).collect();
        for id in &ids {
            log.add(TurnRecord::new(*id, "Support", "chat"));
        }
        let turns = log.turns();
        assert_eq!(turns.len(), MAX_TURNS);
        assert_eq!(turns[0].id, ids[MAX_TURNS].to_string());
        assert!(log.turn(&ids[0].to_string()).is_none());
    }
}
