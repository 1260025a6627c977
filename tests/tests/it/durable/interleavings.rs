//! Two processes with leases, or two or three without, and one or two turns, in every order of their operations.
//!
//! Each operation on the store and each effect is a step. The explorer runs the processes again and again, each time in
//! another order of steps, and checks after each step that no effect happened twice. A process that ends is a process
//! that takes no further step. The exploration is complete, because
//!
//! - two orders lead to the same state if the store, the outside world and everything that each process has seen are
//!   equal, up to the names of turns, versions and keys, which are random, and up to the order of the processes that
//!   resume the turn, which are equal. The explorer goes on from one of them only. An attempt at the turn that failed
//!   counts by its ends: the turns that it found, its effects and its last outcome;
//! - an effect is a step that no other process sees, so that it comes before the steps of the others;
//! - a lease may expire at any time and any number of times, but only the next operation that depends on it sees it.
//!   So it expires right before such an operation, or not at all.
//!
//! A lease is not renewed. A renewal in time changes nothing, and a late one finds the lease lost, as the next
//! operation would.

use ai_services::memory::{
    Change, ChatMemoryStore, CommitState, ConversationLeases, InMemoryChatMemoryStore,
    JournalPosition, LeaseOptions, LeaseToken, MemoryId, MessageWindowChatMemory, OpenJournal,
    RequestId, Snapshot, TurnJournal, TurnJournals,
};
use ai_services::message::{ChatMessage, ToolCall};
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::{
    ConcurrentCalls, DurableTurns, ErrorKind, InvocationContext, Result, async_trait,
};
use ai_services_tests::durable::outside::{Happened, InMemoryOutside, Line, Outside};
use ai_services_tests::durable::till::{Till, TillService, tools};
use futures_util::future::{BoxFuture, FutureExt, poll_fn};
use futures_util::task::noop_waker;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::{Debug, Write};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use tokio::task::unconstrained;

/// The things that the processes share.
#[derive(Default)]
struct World {
    store: InMemoryChatMemoryStore,
    outside: InMemoryOutside,
    holder: Mutex<Option<LeaseToken>>,
}

/// The world as one process sees it.
struct View {
    world: Arc<World>,
    has_leases: bool,
    /// Permission for one step.
    may_step: AtomicBool,
    /// The operations that wait for a permission.
    waiting: Mutex<Vec<Waker>>,
    /// The operation that waits.
    next: Mutex<Operation>,
    /// The results of all operations so far.
    seen: Mutex<Vec<Seen>>,
    token: Mutex<Option<LeaseToken>>,
}

/// The kinds of operations, by the things that they depend on.
#[derive(Clone, Copy, Debug)]
enum Operation {
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
struct Seen(String, Vec<String>);

impl World {
    fn lines(&self, request: &str) -> Vec<Line> {
        self.outside.lines(request).now_or_never().unwrap()
    }
}

impl View {
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
    fn see<T>(
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
    fn see_write(&self, key: &str) {
        let mut seen = self.seen.lock().unwrap();
        let own = seen.iter().rfind(|Seen(text, _)| text.starts_with("append: "));
        let turn = own.map(|Seen(_, names)| names.clone()).unwrap_or_default();
        seen.push(Seen("write".into(), [vec![key.to_owned()], turn].concat()));
    }

    /// Forgets the details of the attempts before this one, on which it does not depend.
    fn begin_attempt(&self) {
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

    fn holds(&self, lease: Option<LeaseToken>) -> bool {
        lease.is_none() || *self.world.holder.lock().unwrap() == lease
    }
}

fn done<T>(_: &T) -> (String, Vec<String>) {
    ("done".into(), Vec::new())
}

fn fenced_by(lease: Option<LeaseToken>) -> Operation {
    lease.map_or(Operation::Shared, Operation::Fenced)
}

/// Returns the version of a conversation and its journal.
fn shown(snapshot: &Snapshot) -> (String, Vec<String>) {
    let (version, journal) = (snapshot.version(), snapshot.journal());
    let length = journal.map_or("-".into(), |journal| journal.length.to_string());
    let text = format!("{} {length}", version.is_some());
    let version = version.map(|version| version.to_string());
    (text, version.into_iter().chain(journal.map(|journal| journal.turn.to_string())).collect())
}

/// Returns the records without the durations of the tools.
fn without_times(journal: &TurnJournal) -> String {
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

/// A process that has not ended.
struct Process {
    view: Arc<View>,
    future: Option<BoxFuture<'static, ()>>,
}

/// The outcomes of a process.
fn ended<T: Debug>(view: &View, outcome: Result<T>) {
    drop(view.see("end", outcome.map(drop), done));
}

impl Process {
    /// Creates a process that makes these requests. One without requests resumes the open turn.
    fn new(
        world: &Arc<World>,
        has_leases: bool,
        called: &'static [&'static str],
        requests: &'static [&'static str],
    ) -> Self {
        let view = Arc::new(View {
            world: Arc::clone(world),
            has_leases,
            may_step: AtomicBool::new(false),
            waiting: Mutex::default(),
            next: Mutex::new(Operation::Shared),
            seen: Mutex::default(),
            token: Mutex::default(),
        });
        let service = service(&view, called);
        let own = Arc::clone(&view);
        let run = async move {
            if requests.is_empty() {
                ended(&own, service.resume("ann").await);
            }
            for request in requests {
                let id = RequestId::new(*request).unwrap();
                let context = InvocationContext::new().with(id);
                ended(&own, service.handle_as("ann", request, context).await);
            }
        };
        Self { view, future: Some(unconstrained(run).boxed()) }
    }

    /// Takes one step: up to the next operation, or to the end.
    fn step(&mut self) {
        let Some(future) = &mut self.future else { return };
        self.view.may_step.store(true, Ordering::Relaxed);
        let waiting = std::mem::take(&mut *self.view.waiting.lock().unwrap());
        waiting.into_iter().for_each(Waker::wake);
        if future.as_mut().poll(&mut Context::from_waker(&noop_waker())).is_ready() {
            self.future = None;
        }
    }

    fn is_running(&self) -> bool {
        self.future.is_some()
    }
}

fn service(view: &Arc<View>, called: &'static [&'static str]) -> TillService {
    let outside: Arc<dyn Outside> = Arc::<View>::clone(view);
    let store = Arc::clone(view);
    let model = ScriptedChatModel::from_fn(move |_, request| match request.turn.len() {
        1 => {
            let order = request.turn.first().and_then(ChatMessage::text).unwrap_or_default();
            let arguments = serde_json::json!({ "order": order }).to_string();
            ScriptedAnswer::tool_calls(
                called.iter().map(|tool| ToolCall::new(*tool, *tool, arguments.as_str())),
            )
        }
        _ => ScriptedAnswer::text("done"),
    });
    TillService::builder()
        .chat_model(model)
        .tools(tools(&outside))
        .chat_memory_provider(move |id| {
            let window = MessageWindowChatMemory::builder().id(id).max_messages(100);
            window.store(Arc::clone(&store)).build()
        })
        .concurrent_calls(ConcurrentCalls::Reject)
        .durable_turns(DurableTurns::new().max_resumes(100))
        .build()
        .unwrap()
}

/// A step of a process.
#[derive(Clone, Copy, Debug)]
struct Choice {
    process: usize,
    /// `true` if the lease expires right before the step.
    expires: bool,
}

/// Explores all orders of the steps of some processes.
struct Explorer {
    processes: usize,
    has_leases: bool,
    called: &'static [&'static str],
    /// The requests of the first processes.
    requests: &'static [&'static [&'static str]],
    visited: HashSet<u128>,
    /// Number of orders that ended.
    ended: usize,
}

/// The processes after some steps.
struct Run {
    world: Arc<World>,
    processes: Vec<Process>,
}

impl Run {
    fn step(&mut self, Choice { process, expires }: Choice) {
        if expires {
            *self.world.holder.lock().unwrap() = None;
        }
        self.processes[process].step();
    }

    /// Returns the next steps that can make a difference.
    fn choices(&self) -> Vec<Choice> {
        let holder = *self.world.holder.lock().unwrap();
        let mut choices = Vec::new();
        for (number, process) in self.processes.iter().enumerate() {
            if !process.is_running() {
                continue;
            }
            let step = Choice { process: number, expires: false };
            let may_expire = match *process.view.next.lock().unwrap() {
                Operation::Effect => return vec![step],
                Operation::Shared => false,
                Operation::Acquire => {
                    holder.is_some() && holder != *process.view.token.lock().unwrap()
                }
                Operation::Fenced(token) => holder == Some(token),
            };
            choices.push(step);
            choices.extend(may_expire.then_some(Choice { expires: true, ..step }));
        }
        choices
    }

    /// Returns a hash of the state, which does not depend on random names.
    fn state(&self) -> u128 {
        let states: Vec<String> = orders(self.processes.len())
            .map(|order| {
                let mut names = Names::default();
                let mut text = String::new();
                for number in order {
                    names.add_process(&self.processes[number], &self.world, &mut text);
                }
                names.add_world(&self.world, &mut text);
                text
            })
            .collect();
        let state = states.into_iter().min().unwrap_or_default();
        let hash =
            |salt: u8| BuildHasherDefault::<DefaultHasher>::default().hash_one((salt, &state));
        u128::from(hash(0)) << 64 | u128::from(hash(1))
    }
}

/// Returns all orders of the processes after the first.
fn orders(processes: usize) -> impl Iterator<Item = Vec<usize>> {
    let others: Vec<usize> = (1..processes).collect();
    let reversed: Vec<usize> = others.iter().rev().copied().collect();
    let second = (others != reversed).then_some(reversed);
    [others].into_iter().chain(second).map(|others| [vec![0], others].concat())
}

/// The random names, in the order of their occurrence.
#[derive(Default)]
struct Names(HashMap<String, usize>);

impl Names {
    fn number(&mut self, name: &str) -> usize {
        let next = self.0.len();
        *self.0.entry(name.to_owned()).or_insert(next)
    }

    fn add(&mut self, seen: &Seen, text: &mut String) {
        text.push_str(&seen.0);
        for name in &seen.1 {
            let _ = write!(text, " #{}", self.number(name));
        }
        text.push('\n');
    }

    fn add_process(&mut self, process: &Process, world: &World, text: &mut String) {
        let holder = *world.holder.lock().unwrap();
        let holds = holder.is_some() && *process.view.token.lock().unwrap() == holder;
        let _ = writeln!(text, "-- {holds}");
        for seen in &*process.view.seen.lock().unwrap() {
            self.add(seen, text);
        }
    }

    /// Adds the store and the effects. The order of the effects makes no difference.
    fn add_world(&mut self, world: &World, text: &mut String) {
        let id = "ann".into();
        let snapshot = world.store.load(&id).now_or_never().unwrap().unwrap();
        let (shown, names) = shown(&snapshot);
        self.add(&Seen(shown, names), text);
        let journal = world.store.journal(&id).now_or_never().unwrap().unwrap();
        text.push_str(&journal.as_ref().map(without_times).unwrap_or_default());
        let mut lines: Vec<_> = world.outside.all();
        lines.sort_by_key(|line| self.number(&line.key));
        for line in lines {
            let _ = write!(text, " {} #{}", line.event, self.number(&line.key));
        }
    }
}

impl Explorer {
    fn start(&self) -> Run {
        let world = Arc::new(World::default());
        let new = |number| {
            let requests = self.requests.get(number).copied().unwrap_or_default();
            Process::new(&world, self.has_leases, self.called, requests)
        };
        let mut processes: Vec<_> = (0..self.processes).map(new).collect();
        // Up to the first operation of each.
        for process in &mut processes {
            let future = process.future.as_mut().unwrap();
            assert!(future.as_mut().poll(&mut Context::from_waker(&noop_waker())).is_pending());
        }
        Run { world, processes }
    }

    /// Runs the processes in this order from the start.
    fn replay(&self, order: &[Choice]) -> Run {
        let mut run = self.start();
        order.iter().for_each(|choice| run.step(*choice));
        run
    }

    fn all_requests(&self) -> BTreeSet<&'static str> {
        self.requests.iter().copied().flatten().copied().collect()
    }

    /// Explores all orders that begin with `order`, which has led to `run`.
    fn explore(&mut self, order: &mut Vec<Choice>, run: Run) {
        check(&run.world, &self.all_requests(), order);
        if !self.visited.insert(run.state()) {
            return;
        }
        let choices = run.choices();
        if choices.is_empty() {
            self.ended += 1;
            self.check_end(&run.world, order);
            return;
        }
        let mut run = Some(run);
        for choice in choices {
            let mut next = run.take().unwrap_or_else(|| self.replay(order));
            next.step(choice);
            order.push(choice);
            self.explore(order, next);
            order.pop();
        }
    }

    /// Finishes the turn in a last process, which nobody disturbs.
    fn check_end(&self, world: &Arc<World>, order: &[Choice]) {
        *world.holder.lock().unwrap() = None;
        let mut last = Process::new(world, self.has_leases, self.called, &[]);
        for _ in 0..100 {
            last.step();
        }
        assert!(!last.is_running(), "{order:?}");
        check(world, &self.all_requests(), order);
        let stored = world.store.get_messages(&"ann".into()).now_or_never().unwrap().unwrap();
        let mut turns = 0;
        let requests = self.all_requests();
        for &request in &requests {
            let is_own = |message: &&ChatMessage| message.text() == Some(request);
            let stored = stored.iter().filter(is_own).count();
            // A call that another process disturbs before its first append leaves no trace.
            let may_be_absent = self.has_leases || requests.len() > 1;
            let is_absent = may_be_absent && world.lines(request).is_empty();
            assert!(stored == 1 || stored == 0 && is_absent, "{request}: {order:?}");
            let charges = keys(world, request, Happened::Charged);
            assert_eq!(charges, stored * usize::from(self.called.contains(&"charge")), "{order:?}");
            turns += stored;
        }
        assert_eq!(stored.len(), turns * (3 + self.called.len()), "{order:?}: {stored:?}");
    }
}

/// Returns the number of different keys of an effect of a request.
fn keys(world: &World, request: &str, event: Happened) -> usize {
    let lines = world.lines(request);
    let own = lines.iter().filter(|line| line.event == event);
    own.map(|line| line.key.clone()).collect::<HashSet<_>>().len()
}

/// Checks that no tool without a class took effect twice, and no keyed effect has two keys.
fn check(world: &World, requests: &BTreeSet<&str>, order: &[Choice]) {
    for request in requests {
        let lines = world.lines(request);
        let mailed = lines.iter().filter(|line| line.event == Happened::Mailed).count();
        assert!(mailed <= 1, "{order:?}: {lines:?}");
        assert!(keys(world, request, Happened::Charged) <= 1, "{order:?}: {lines:?}");
    }
}

/// Explores processes without or with leases. The first ones make these requests, whose turns call these tools, and
/// the others resume the open turn.
fn explore(
    processes: usize,
    has_leases: bool,
    called: &'static [&'static str],
    requests: &'static [&'static [&'static str]],
) -> Explorer {
    let (visited, ended) = (HashSet::new(), 0);
    let mut explorer = Explorer { processes, has_leases, called, requests, visited, ended };
    let start = explorer.start();
    explorer.explore(&mut Vec::new(), start);
    explorer
}

#[tokio::test(start_paused = true)]
async fn two_processes_in_every_order() {
    let explorer = explore(2, false, &["charge", "mail"], &[&["order-1"]]);
    assert!(explorer.visited.len() > 100 && explorer.ended > 10);
}

#[tokio::test(start_paused = true)]
async fn two_turns_in_every_order() {
    let explorer = explore(2, false, &["mail"], &[&["order-1", "order-2"]]);
    assert!(explorer.visited.len() > 100 && explorer.ended > 10);
}

#[tokio::test(start_paused = true)]
async fn two_callers_in_every_order() {
    let explorer = explore(2, false, &["mail"], &[&["order-1"], &["order-2"]]);
    assert!(explorer.visited.len() > 100 && explorer.ended > 10);
}

#[tokio::test(start_paused = true)]
async fn repeated_request_in_every_order() {
    let explorer = explore(2, false, &["mail"], &[&["order-1"], &["order-1"]]);
    assert!(explorer.visited.len() > 100 && explorer.ended > 10);
}

/// `cargo test -p ai-services-tests --test it -- --ignored in_every_order`
#[tokio::test(start_paused = true)]
#[ignore = "takes two minutes"]
async fn two_processes_with_leases_in_every_order() {
    let explorer = explore(2, true, &["charge", "mail"], &[&["order-1"]]);
    assert!(explorer.visited.len() > 100 && explorer.ended > 10);
}

#[tokio::test(start_paused = true)]
async fn three_processes_in_every_order() {
    let explorer = explore(3, false, &["mail"], &[&["order-1"]]);
    assert!(explorer.visited.len() > 100 && explorer.ended > 10);
}
