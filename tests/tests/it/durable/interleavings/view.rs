//! The store and the outside world as a process sees them: each operation waits for its turn, and is recorded.

use ai_services::memory::{
    Change, ChatMemoryStore, CommitState, ConversationLeases, InMemoryChatMemoryStore,
    JournalPosition, LeaseOptions, LeaseToken, MemoryId, OpenJournal, RequestId, Snapshot,
    TurnJournal, TurnJournals,
};
use ai_services::message::ChatMessage;
use ai_services::{ErrorKind, Result, async_trait};
use ai_services_tests::durable::outside::{InMemoryOutside, Line, Outside};
use futures_util::future::{FutureExt, poll_fn};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};

/// The things that the processes share.
#[derive(Default)]
pub(super) struct World {
    pub(super) store: InMemoryChatMemoryStore,
    pub(super) outside: InMemoryOutside,
    pub(super) holder: Mutex<Option<LeaseToken>>,
}

/// The world as one process sees it.
pub(super) struct View {
    pub(super) world: Arc<World>,
    has_leases: bool,
    /// Permission for one step.
    may_step: AtomicBool,
    /// The operations that wait for a permission.
    waiting: Mutex<Vec<Waker>>,
    /// The operation that waits.
    pub(super) next: Mutex<Operation>,
    /// The results of all operations so far.
    pub(super) seen: Mutex<Vec<Seen>>,
    pub(super) token: Mutex<Option<LeaseToken>>,
}

/// The kinds of operations, by the things that they depend on.
#[derive(Clone, Copy, Debug)]
pub(super) enum Operation {
    /// An effect that no other process sees.
    Effect,
    /// An operation on the store or the outside world.
    Shared,
    /// The attempt to acquire the lease.
    Acquire,
    /// An operation that this lease fences.
    Fenced(LeaseToken),
}

/// The result of an operation: a text, and the random names in it.
#[derive(Clone, Debug)]
pub(super) struct Seen(pub(super) String, pub(super) Vec<String>);

impl World {
    pub(super) fn lines(&self, request: &str) -> Vec<Line> {
        self.outside.lines(request).now_or_never().unwrap()
    }
}

impl View {
    /// Creates the view of a process that has not begun.
    pub(super) fn new(world: &Arc<World>, has_leases: bool) -> Self {
        Self {
            world: Arc::clone(world),
            has_leases,
            may_step: AtomicBool::new(false),
            waiting: Mutex::default(),
            next: Mutex::new(Operation::Shared),
            seen: Mutex::default(),
            token: Mutex::default(),
        }
    }

    /// Permits one step and wakes the operations that wait for it.
    pub(super) fn allow_step(&self) {
        self.may_step.store(true, Ordering::Relaxed);
        let waiting = std::mem::take(&mut *self.waiting.lock().unwrap());
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Waits for the permission for a step, and takes it.
    async fn step(&self, operation: Operation) {
        *self.next.lock().unwrap() = operation;
        poll_fn(|cx| match self.may_step.swap(false, Ordering::Relaxed) {
            true => Poll::Ready(()),
            false => {
                self.waiting.lock().unwrap().push(cx.waker().clone());
                Poll::Pending
            }
        })
        .await;
    }

    /// Records the result of an operation.
    pub(super) fn see<T>(
        &self,
        operation: &str,
        outcome: Result<T>,
        shown: impl FnOnce(&T) -> (String, Vec<String>),
    ) -> Result<T> {
        let (text, names) = match &outcome {
            Ok(value) => shown(value),
            Err(error) => (format!("{:?}", error.kind()), Vec::new()),
        };
        self.seen.lock().unwrap().push(Seen(format!("{operation}: {text}"), names));
        outcome
    }

    /// Records an effect with this key, and the turn that it belongs to.
    pub(super) fn see_write(&self, key: &str) {
        let mut seen = self.seen.lock().unwrap();
        let own = seen.iter().rfind(|Seen(text, _)| text.starts_with("append: "));
        let turn = own.map(|Seen(_, names)| names.clone()).unwrap_or_default();
        seen.push(Seen("write".into(), [vec![key.to_owned()], turn].concat()));
    }

    /// Forgets the details of the attempts before this one, on which it does not depend.
    pub(super) fn begin_attempt(&self) {
        let mut seen = self.seen.lock().unwrap();
        let last = seen.len().saturating_sub(1);
        let own = seen.iter().rposition(|Seen(text, _)| text.starts_with("append: "));
        let mut number = 0;
        seen.retain_mut(|Seen(text, names)| {
            number += 1;
            let kind = text.split(':').next().unwrap_or_default();
            let is_read = matches!(kind, "load" | "journal");
            let is_own = own == Some(number - 1);
            let is_kept = is_read || is_own || kind == "write" || number - 1 == last;
            if is_read || is_own {
                // Without a journal, the only name is a version.
                let has_turn = !text.ends_with('-');
                names.drain(..names.len().saturating_sub(usize::from(has_turn)));
                *text = kind.to_owned();
            }
            is_kept
        });
        seen.push(Seen("attempt".into(), Vec::new()));
    }

    pub(super) fn holds(&self, lease: Option<LeaseToken>) -> bool {
        lease.is_none() || *self.world.holder.lock().unwrap() == lease
    }
}

pub(super) fn done<T>(_: &T) -> (String, Vec<String>) {
    ("done".into(), Vec::new())
}

fn fenced_by(lease: Option<LeaseToken>) -> Operation {
    lease.map_or(Operation::Shared, Operation::Fenced)
}

/// Returns the version of a conversation and its journal.
pub(super) fn shown(snapshot: &Snapshot) -> (String, Vec<String>) {
    let (version, journal) = (snapshot.version(), snapshot.journal());
    let length = journal.map_or("-".into(), |journal| journal.length.to_string());
    let text = format!("{} {length}", version.is_some());
    let version = version.map(|version| version.to_string());
    (text, version.into_iter().chain(journal.map(|journal| journal.turn.to_string())).collect())
}

/// Returns the records without the durations of the tools.
pub(super) fn without_times(journal: &TurnJournal) -> String {
    let text = journal.records.join("\n");
    let parts = text.split(r#""ms":"#);
    parts.map(|part| part.trim_start_matches(|digit: char| digit.is_ascii_digit())).collect()
}

fn lease_lost() -> ai_services::Error {
    ai_services::Error::new(ErrorKind::Conflict, "the lease was lost")
}

#[async_trait]
impl ChatMemoryStore for View {
    async fn get_messages(&self, id: &MemoryId) -> Result<Vec<ChatMessage>> {
        self.world.store.get_messages(id).await
    }

    async fn update_messages(&self, id: &MemoryId, messages: &[ChatMessage]) -> Result<()> {
        self.world.store.update_messages(id, messages).await
    }

    async fn delete_messages(&self, id: &MemoryId) -> Result<()> {
        self.world.store.delete_messages(id).await
    }

    async fn load(&self, id: &MemoryId) -> Result<Snapshot> {
        self.step(Operation::Shared).await;
        let loaded = self.world.store.load(id).await;
        self.see("load", loaded, shown)
    }

    async fn commit(&self, id: &MemoryId, change: Change) -> Result<()> {
        let lease = change.lease();
        self.step(fenced_by(lease)).await;
        if !self.holds(lease) {
            return self.see("commit", Err(lease_lost()), done);
        }
        let outcome = self.world.store.commit(id, change).await;
        if outcome.is_ok() && lease.is_some() {
            *self.world.holder.lock().unwrap() = None;
        }
        self.see("commit", outcome, done)
    }

    async fn commit_state(&self, id: &MemoryId, request: &RequestId) -> Result<CommitState> {
        self.step(Operation::Shared).await;
        let state = self.world.store.commit_state(id, request).await;
        self.see("commit state", state, |state| (format!("{state:?}"), Vec::new()))
    }

    fn leases(&self) -> Option<&dyn ConversationLeases> {
        self.has_leases.then_some(self as _)
    }

    fn journals(&self) -> Option<&dyn TurnJournals> {
        Some(self)
    }
}

#[async_trait]
impl ConversationLeases for View {
    fn options(&self) -> LeaseOptions {
        LeaseOptions::new()
    }

    async fn acquire(&self, _: &MemoryId, token: LeaseToken) -> Result<bool> {
        if self.token.lock().unwrap().replace(token).is_some() {
            self.begin_attempt();
        }
        self.step(Operation::Acquire).await;
        let mut holder = self.world.holder.lock().unwrap();
        let is_free = holder.is_none_or(|holder| holder == token);
        if is_free {
            *holder = Some(token);
        }
        drop(holder);
        self.see("acquire", Ok(is_free), |is_free| (is_free.to_string(), Vec::new()))
    }

    async fn release(&self, _: &MemoryId, token: LeaseToken) -> Result<()> {
        self.step(Operation::Shared).await;
        let mut holder = self.world.holder.lock().unwrap();
        if *holder == Some(token) {
            *holder = None;
        }
        drop(holder);
        self.see("release", Ok(()), done)
    }
}

#[async_trait]
impl TurnJournals for View {
    async fn journal(&self, id: &MemoryId) -> Result<Option<TurnJournal>> {
        self.step(Operation::Shared).await;
        let journal = self.world.store.journal(id).await;
        self.see("journal", journal, |journal| match journal {
            Some(journal) => (without_times(journal), vec![journal.turn.to_string()]),
            None => ("-".into(), Vec::new()),
        })
    }

    async fn append(
        &self,
        id: &MemoryId,
        position: JournalPosition,
        records: &[String],
        lease: Option<LeaseToken>,
    ) -> Result<JournalPosition> {
        self.step(fenced_by(lease)).await;
        let outcome = match self.holds(lease) {
            true => self.world.store.append(id, position, records, None).await,
            false => Err(lease_lost()),
        };
        self.see("append", outcome, |position| {
            (position.length.to_string(), vec![position.turn.to_string()])
        })
    }

    async fn discard(&self, id: &MemoryId, position: JournalPosition) -> Result<()> {
        self.step(Operation::Shared).await;
        let outcome = self.world.store.discard(id, position).await;
        self.see("discard", outcome, done)
    }

    async fn open_journals(&self, _: Option<&MemoryId>, _: usize) -> Result<Vec<OpenJournal>> {
        Ok(Vec::new())
    }
}

#[async_trait]
impl Outside for View {
    async fn write(&self, line: Line) {
        self.step(Operation::Effect).await;
        self.see_write(&line.key);
        self.world.outside.write(line).await;
    }

    /// No tool of these turns verifies its calls, so that effects are steps that no process sees.
    async fn lines(&self, _: &str) -> Vec<Line> {
        unreachable!("a call was verified")
    }
}
