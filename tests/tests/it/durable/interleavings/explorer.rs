//! Runs processes again and again, each time in another order of steps, and checks every state.

use super::view::{Operation, Seen, View, World, done, shown, without_times};
use ai_services::memory::{ChatMemoryStore, MessageWindowChatMemory, RequestId, TurnJournals};
use ai_services::message::{ChatMessage, ToolCall};
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::{ConcurrentCalls, DurableTurns, InvocationContext, Result};
use ai_services_tests::durable::outside::{Happened, Outside};
use ai_services_tests::durable::till::{Till, TillService, tools};
use futures_util::future::{BoxFuture, FutureExt};
use futures_util::task::noop_waker;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::{Debug, Write};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::Arc;
use std::task::Context;
use tokio::runtime::{Builder, Runtime};
use tokio::task::unconstrained;

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
        let view = Arc::new(View::new(world, has_leases));
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
        self.view.allow_step();
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
pub(super) struct Explorer {
    processes: usize,
    has_leases: bool,
    called: &'static [&'static str],
    /// The requests of the first processes.
    requests: &'static [&'static [&'static str]],
    visited: HashSet<u128>,
    /// Number of orders that ended.
    ended: usize,
}

/// The size of an exploration.
#[derive(Debug)]
pub(super) struct Explored {
    /// Number of different states.
    pub(super) states: usize,
    /// Number of states in which all processes have ended.
    pub(super) ended: usize,
}

/// The processes after some steps.
struct Run {
    world: Arc<World>,
    processes: Vec<Process>,
    /// Never runs its tasks, which release the leases of calls that were dropped: the processes have ended. It ends with
    /// the run, because the tasks hold the store.
    runtime: Runtime,
}

impl Drop for Run {
    fn drop(&mut self) {
        let _context = self.runtime.enter();
        self.processes.clear();
    }
}

impl Run {
    fn step(&mut self, Choice { process, expires }: Choice) {
        let _context = self.runtime.enter();
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
    /// Creates an explorer of processes without or with leases, of which the first ones make these requests.
    pub(super) fn new(
        processes: usize,
        has_leases: bool,
        called: &'static [&'static str],
        requests: &'static [&'static [&'static str]],
    ) -> Self {
        Self { processes, has_leases, called, requests, visited: HashSet::new(), ended: 0 }
    }

    /// Explores all orders.
    pub(super) fn explore_all(mut self) -> Explored {
        let start = self.start();
        self.explore(&mut Vec::new(), start);
        Explored { states: self.visited.len(), ended: self.ended }
    }

    fn start(&self) -> Run {
        let world = Arc::new(World::default());
        let runtime =
            Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let context = runtime.enter();
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
        drop(context);
        Run { world, processes, runtime }
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
            self.check_end(&run, order);
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
    fn check_end(&self, run: &Run, order: &[Choice]) {
        let world = &run.world;
        let _context = run.runtime.enter();
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
