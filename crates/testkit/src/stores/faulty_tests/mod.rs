//! A small complete store with one configurable fault.

mod commits;
mod conversations;
mod fault;
mod journals;
mod leases;

use ai_services_core::memory::{
    EvictedMessages, LeaseToken, MemoryId, RequestId, TurnJournal, UnreadableRecord,
};
use ai_services_core::message::ChatMessage;
use ai_services_core::{Error, ErrorKind, Result};
pub(super) use fault::Fault;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime};
use tokio::time::Instant;

/// A store with one fault. Clones share the data.
#[derive(Clone)]
pub(super) struct FaultyStore(Arc<SharedState>);

struct SharedState {
    fault: Fault,
    evicted_messages: EvictedMessages,
    start: (SystemTime, Instant),
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    chats: BTreeMap<String, Chat>,
    versions: u64,
}

#[derive(Clone, Default)]
struct Chat {
    rows: Vec<Row>,
    positions: u64,
    version: u64,
    last_updated: Duration,
    lease: Option<(LeaseToken, Instant)>,
    /// The requests of the last commits, newest first.
    requests: Vec<Option<RequestId>>,
    journal: Option<Journal>,
    /// The journal that was closed last.
    closed: Option<Journal>,
}

#[derive(Clone)]
struct Journal {
    records: TurnJournal,
    /// Number of records of the first append.
    first: usize,
    last_updated: Duration,
}

#[derive(Clone)]
struct Row {
    position: u64,
    message: ChatMessage,
    is_evicted: bool,
    damage: Option<Damage>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Damage {
    Corrupt,
    Newer,
}

impl Chat {
    fn current(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| !row.is_evicted)
    }

    fn messages(&self) -> Vec<ChatMessage> {
        self.current().map(|row| row.message.clone()).collect()
    }

    fn push(&mut self, message: ChatMessage) {
        self.positions += 1;
        let position = self.positions;
        self.rows.push(Row { position, message, is_evicted: false, damage: None });
    }
}

impl FaultyStore {
    pub(super) fn new(fault: Fault, evicted_messages: EvictedMessages) -> Self {
        let start = (SystemTime::now(), Instant::now());
        let state = Mutex::default();
        Self(Arc::new(SharedState { fault, evicted_messages, start, state }))
    }

    pub(super) fn damage(&self, id: &MemoryId, damage: Damage) {
        let mut state = self.state();
        let newest = state.chats.get_mut(&self.key(id)).and_then(|chat| chat.rows.last_mut());
        newest.unwrap().damage = Some(damage);
    }

    fn is(&self, fault: Fault) -> bool {
        self.0.fault == fault
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap()
    }

    fn key(&self, id: &MemoryId) -> String {
        let id = id.as_str();
        match self.0.fault {
            Fault::IgnoresCase => id.to_lowercase(),
            Fault::TrimsIds => id.trim_end().to_owned(),
            Fault::TruncatesIds => id.chars().take(1_000).collect(),
            Fault::TruncatesIdsAtNul => id.split('\0').next().unwrap().to_owned(),
            _ => id.to_owned(),
        }
    }

    fn now(&self) -> Duration {
        let now = self.0.start.1.elapsed();
        match self.0.fault {
            Fault::RoundsTimesToSeconds => Duration::from_secs(now.as_secs()),
            _ => Duration::from_millis(now.as_millis() as u64),
        }
    }

    fn time(&self, since: Duration) -> SystemTime {
        self.0.start.0 + since
    }

    fn chat(&self, state: &State, id: &MemoryId) -> Chat {
        let chat = state.chats.get(&self.key(id));
        let any = || state.chats.values().next().filter(|_| self.is(Fault::AnswersForUnknownIds));
        chat.or_else(any).cloned().unwrap_or_default()
    }

    /// Fails if a row cannot be read.
    fn check(&self, state: &State, id: &MemoryId) -> Result<()> {
        let chat = self.chat(state, id);
        let spread = state.chats.values().filter(|_| self.is(Fault::DamageSpreads));
        let rows = chat.rows.iter().chain(spread.flat_map(|chat| &chat.rows));
        let Some((row, damage)) = rows.filter_map(|row| Some((row, row.damage?))).next() else {
            return Ok(());
        };
        let row = format!("message {}", row.position);
        let record = match damage {
            Damage::Newer if !self.is(Fault::NewerIsCorrupt) => {
                UnreadableRecord::newer(id, row, 2, 1)
            }
            _ => UnreadableRecord::corrupt(id, row, "it is damaged"),
        };
        match self.0.fault {
            Fault::ReportsWithoutDetail => Err(Error::new(ErrorKind::Store, record.to_string())),
            _ => Err(record.into()),
        }
    }

    fn read(&self, id: &MemoryId) -> Result<Chat> {
        let mut state = self.state();
        if self.is(Fault::ReadUpdatesLastUse) {
            let now = self.now();
            state.chats.entry(self.key(id)).and_modify(|chat| chat.last_updated = now);
        }
        if !self.is(Fault::SkipsDamagedRows) {
            self.check(&state, id)?;
        }
        let mut chat = self.chat(&state, id);
        chat.rows.retain(|row| row.damage.is_none());
        if self.is(Fault::TruncatesAtNineHundred) {
            chat.rows.truncate(900);
        }
        Ok(chat)
    }
}
