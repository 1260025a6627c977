//! A group of customers, and the processes that handle their orders.

#![allow(clippy::disallowed_methods, reason = "the output of a process is read while it is killed")]

use super::client::{Customer, Start};
use super::event::{Event, State};
use super::judgement::{Fault, Tally, Traces};
use super::ledger;
use super::outside::{Happened, Line};
use crate::turns::check::everything;
use crate::turns::harness::again;
use ai_services::memory::{ConversationStore, MemoryId};
use anyhow::Context;
use clap::ValueEnum;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStdout};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Number of customers of a group. A process serves all of them at once.
const CUSTOMERS: u64 = 4;

/// Time limit of a process that ends by itself.
const PATIENCE: Duration = Duration::from_secs(60);

/// A group of customers. Its conversations are short, because each group has its own.
#[derive(Debug)]
pub struct Group {
    customers: Vec<String>,
    ledger: PathBuf,
    /// The order of each customer that began last and did not end.
    unfinished: BTreeMap<String, String>,
    done: BTreeSet<String>,
    /// The errors of calls.
    failures: Vec<String>,
    /// Number of errors that were conflicts.
    conflicts: u64,
    takeovers: Takeovers,
}

/// The meaning of a conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takeovers {
    /// Another process resumed the turn of a process that was paused.
    Expected,
    /// A fault, because no other process is running.
    Fault,
}

/// A process of a group.
#[derive(Debug)]
pub struct Running {
    /// The process.
    pub child: Child,
    progress: watch::Receiver<Progress>,
    events: JoinHandle<anyhow::Result<Vec<(Instant, Event)>>>,
}

/// The orders of a process so far.
#[derive(Debug, Default)]
struct Progress {
    began: u64,
    /// The order of each customer that began last and did not end.
    unfinished: BTreeMap<String, String>,
}

impl Progress {
    fn add(&mut self, event: &Event) {
        let Event { customer, order, state } = event;
        match state {
            State::Began => {
                self.began += 1;
                self.unfinished.insert(customer.clone(), order.clone());
            }
            _ if self.unfinished.get(customer) == Some(order) => {
                self.unfinished.remove(customer);
            }
            _ => {}
        }
    }
}

impl Group {
    /// Creates the group with this number. Its ledger is a file in `directory`.
    pub fn new(number: u64, directory: &Path, takeovers: Takeovers) -> Self {
        Self {
            customers: (0..CUSTOMERS).map(|customer| format!("g{number}c{customer}")).collect(),
            ledger: directory.join(format!("ledger-{number}")),
            unfinished: BTreeMap::new(),
            done: BTreeSet::new(),
            failures: Vec::new(),
            conflicts: 0,
            takeovers,
        }
    }

    /// Starts a process with the arguments of the harness.
    ///
    /// # Errors
    ///
    /// Fails if the process cannot be started.
    pub fn start(
        &self,
        arguments: &[String],
        process: u32,
        start: Start,
    ) -> anyhow::Result<Running> {
        let start = start.to_possible_value();
        let mut arguments = arguments.to_vec();
        arguments.extend([
            format!("--process={process}"),
            format!("--ledger={}", self.ledger.display()),
            format!("--start={}", start.as_ref().map_or("", |start| start.get_name())),
        ]);
        arguments.extend(self.customers.iter().map(|name| {
            let unfinished = self.unfinished.get(name).cloned();
            format!("--customer={}", Customer { name: name.clone(), unfinished })
        }));
        let mut child = again(&arguments, None)?;
        let out = child.stdout.take().context("the process has no output")?;
        let unfinished = self.unfinished.clone();
        let (sender, progress) = watch::channel(Progress { unfinished, ..Progress::default() });
        let events = tokio::spawn(listen(out, sender));
        Ok(Running { child, progress, events })
    }

    /// Takes over the unfinished orders of a process.
    pub fn observe(&mut self, running: &Running) {
        self.unfinished.clone_from(&running.progress.borrow().unfinished);
    }

    /// Takes in the output of a process that has ended. Returns the longest time of an order that it finished.
    ///
    /// # Errors
    ///
    /// Fails if the output is invalid.
    pub async fn end(&mut self, running: Running) -> anyhow::Result<Option<Duration>> {
        let Running { progress, events, .. } = running;
        let mut longest = None;
        let mut began_at = BTreeMap::new();
        for (at, Event { customer, order, state }) in events.await?? {
            match state {
                State::Began => {
                    began_at.insert(order, at);
                }
                State::Done => {
                    let took = began_at.get(&order).map(|began| at.duration_since(*began));
                    longest = longest.max(took);
                    self.done.insert(order);
                }
                State::Failed(error) if self.is_takeover(&error) => self.conflicts += 1,
                State::Failed(error) => self.failures.push(format!("{customer} {order}: {error}")),
            }
        }
        self.unfinished.clone_from(&progress.borrow().unfinished);
        Ok(longest)
    }

    fn is_takeover(&self, error: &str) -> bool {
        self.takeovers == Takeovers::Expected && error.starts_with("Conflict")
    }

    /// Starts a process that ends by itself, and waits for it.
    ///
    /// # Errors
    ///
    /// Fails if the process fails or does not end.
    pub async fn finish(
        &mut self,
        arguments: &[String],
        process: u32,
        start: Start,
    ) -> anyhow::Result<()> {
        let mut running = self.start(arguments, process, start)?;
        running.until_ended().await?;
        self.end(running).await.map(|_| ())
    }

    /// Counts the unfinished orders by the last line of each in the ledger.
    ///
    /// # Errors
    ///
    /// Fails if the ledger cannot be read.
    pub fn count_stages(&self, stages: &mut BTreeMap<String, u64>) -> anyhow::Result<()> {
        let lines = self.lines()?;
        for order in self.unfinished.values() {
            let last = lines.get(order).and_then(|lines| lines.last());
            let stage = match last {
                None | Some(Line { event: Happened::Called, .. }) => "nothing".to_owned(),
                Some(Line { event: Happened::Asked, key, .. }) => format!("asked {key}"),
                Some(Line { event, .. }) => event.to_string(),
            };
            *stages.entry(stage).or_default() += 1;
        }
        Ok(())
    }

    /// Judges all orders, and deletes the conversations.
    ///
    /// # Errors
    ///
    /// Fails if the store or the ledger cannot be read.
    pub async fn judge(self, store: &dyn ConversationStore) -> anyhow::Result<Tally> {
        let mut history = Vec::new();
        let mut open = Vec::new();
        for customer in &self.customers {
            let id = MemoryId::from(customer.as_str());
            history.extend(everything(store, &id).await?);
            let journals = store.journals().context("the store has no journals")?;
            open.extend(journals.journal(&id).await?);
            store.delete_messages(&id).await?;
        }
        let lines = self.lines()?;
        let mut tally = Tally::new(Traces { history: &history, lines: &lines, done: &self.done });
        tally.conflicts = self.conflicts;
        for journal in open {
            tally.add(&[(Fault::Unfinished, 1)], || journal.records.join("\n    "));
        }
        for failure in self.failures {
            tally.add(&[(Fault::Failed, 1)], || failure);
        }
        Ok(tally)
    }

    /// Returns the lines of each order.
    fn lines(&self) -> anyhow::Result<BTreeMap<String, Vec<Line>>> {
        let mut lines: BTreeMap<String, Vec<Line>> = BTreeMap::new();
        for line in ledger::read(&self.ledger)? {
            lines.entry(line.order.clone()).or_default().push(line);
        }
        Ok(lines)
    }
}

impl Running {
    /// Waits until the process began this number of orders, or has ended. Waits at most for the limit.
    pub async fn until_began(&mut self, orders: u64, limit: Duration) {
        let _ = timeout(limit, self.progress.wait_for(|progress| progress.began >= orders)).await;
    }

    /// Waits until the process ends by itself.
    ///
    /// # Errors
    ///
    /// Fails if the process fails, or is killed because it does not end.
    pub async fn until_ended(&mut self) -> anyhow::Result<()> {
        let Ok(status) = timeout(PATIENCE, self.child.wait()).await else {
            self.child.kill().await?;
            anyhow::bail!("a process did not end within {} s", PATIENCE.as_secs());
        };
        let status = status?;
        anyhow::ensure!(status.success(), "a process failed: {status}");
        Ok(())
    }
}

/// Reads the output of a process until it ends.
async fn listen(
    out: ChildStdout,
    progress: watch::Sender<Progress>,
) -> anyhow::Result<Vec<(Instant, Event)>> {
    let mut events = Vec::new();
    let mut lines = BufReader::new(out).lines();
    while let Some(line) = lines.next_line().await? {
        let event: Event = line.parse()?;
        progress.send_modify(|progress| progress.add(&event));
        events.push((Instant::now(), event));
    }
    Ok(events)
}
