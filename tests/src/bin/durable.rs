//! Repeatedly kills or pauses processes in durable turns, and checks the effects of their tools.

#![allow(clippy::print_stdout, reason = "the result of a harness")]

use ai_services::DurableTurns;
use ai_services::memory::LeaseOptions;
use ai_services_tests::durable::client::{Client, Customer, Start, Work};
use ai_services_tests::durable::group::{Group, Running, Takeovers};
use ai_services_tests::durable::judgement::{Fault, Tally};
use ai_services_tests::durable::ledger::Ledger;
use ai_services_tests::turns::harness::{Dice, Stage, progress};
use ai_services_tests::turns::kind::Kind;
use ai_services_tests::turns::place::Place;
use anyhow::Context;
use clap::Parser;
use futures_util::future::{try_join, try_join_all};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use tempfile::TempDir;
use tokio::process::Command;
use tokio::time::{sleep, timeout};

/// Number of kills after which the customers change, so that conversations and ledgers stay short.
const KILLS_OF_A_GROUP: u64 = 25;

/// Largest delay of a kill after the start of its process, in microseconds.
const AFTER_START: u64 = 80_000;

/// Time limit of a process that does not begin its next order.
const PATIENCE: Duration = Duration::from_secs(2);

/// Number of pauses at the same time, each in a store of its own: a process recovers the turns of all customers.
const PAIRS: u64 = 8;

/// Number of orders of each customer of a process that is paused.
const ORDERS: u64 = 3;

/// Duration of a lease: the shortest possible one, because an ended process blocks its conversations for so long.
const LEASE: Duration = Duration::from_secs(1);

/// Kills processes that handle orders, at random moments, and starts the next one each time, which resumes the
/// interrupted turns. Then checks that each effect happened as often as its class allows, that each order is
/// stored once and completely, and that no recorded answer was requested again.
#[derive(Clone, Debug, Parser)]
struct Args {
    /// Store
    #[arg(long)]
    store: Kind,
    /// Number of kills
    #[arg(long, default_value_t = 1_000)]
    kills: u64,
    /// Pause processes instead, this number of times, while another process resumes their turns
    #[arg(long, conflicts_with = "kills")]
    pauses: Option<u64>,
    /// Use leases of one second
    #[arg(long)]
    leases: bool,
    /// Let another process repeat the requests of a process that is paused
    #[arg(long, requires = "pauses")]
    repeat: bool,
    /// Repeat interrupted orders without durable turns. Succeeds if a tool is executed twice
    #[arg(long, conflicts_with = "pauses")]
    without_journal: bool,
    /// Seed for the moments of the kills
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Run as the child process with this number
    #[arg(long, hide = true, requires = "place")]
    process: Option<u32>,
    /// Location of the store
    #[arg(long, hide = true)]
    place: Option<String>,
    /// Log of the effects
    #[arg(long, hide = true, default_value = "ledger")]
    ledger: PathBuf,
    /// Treatment of open turns
    #[arg(long, hide = true, default_value = "recover")]
    start: Start,
    /// Customer, with the unfinished order behind a colon
    #[arg(long, hide = true)]
    customer: Vec<Customer>,
    /// Number of orders of each customer
    #[arg(long, hide = true, default_value_t = u64::MAX)]
    orders: u64,
}

#[tokio::main(worker_threads = 2)]
async fn main() -> anyhow::Result<ExitCode> {
    let args = Args::parse();
    match (args.process, &args.place, args.pauses) {
        (Some(process), Some(place), _) => {
            let Ok(place) = place.parse::<Place>();
            serve(&args, process, &place).await?;
            Ok(ExitCode::SUCCESS)
        }
        (_, _, Some(pauses)) => pause_all(&args, pauses).await,
        (_, _, None) => kill_all(&args).await,
    }
}

/// Handles orders in a child process.
async fn serve(args: &Args, process: u32, place: &Place) -> anyhow::Result<()> {
    let store = place.open(args.leases.then(|| LeaseOptions::new().duration(LEASE)), None).await?;
    // A process is often killed while it resumes a turn.
    let durable = DurableTurns::new().max_resumes(usize::MAX);
    let durable = (!args.without_journal).then_some(durable);
    let ledger = Ledger::open(&args.ledger, process)?;
    let Args { start, customer: customers, orders, .. } = args.clone();
    Client::new(store, ledger, durable, Work { process, start, customers, orders })?.run().await
}

/// Returns the arguments of the processes on this store.
fn arguments(args: &Args, place: &Place, orders: u64) -> Vec<String> {
    let mut arguments =
        vec![args.store.as_argument(), format!("--place={place}"), format!("--orders={orders}")];
    arguments.extend(args.leases.then(|| "--leases".to_owned()));
    arguments.extend(args.without_journal.then(|| "--without-journal".to_owned()));
    arguments
}

/// The state of all kills so far.
struct Kills {
    dice: Dice,
    arguments: Vec<String>,
    without_journal: bool,
    /// The number of the next process.
    process: u32,
    /// Usual duration of an order.
    lifetime: Duration,
    /// Number of unfinished orders, by the last line of each at a kill.
    stages: BTreeMap<String, u64>,
}

async fn kill_all(args: &Args) -> anyhow::Result<ExitCode> {
    let (stage, ledgers) = (Stage::set(args.store)?, TempDir::new()?);
    let place = stage.place();
    let store = place.open(None, Some(0)).await?;
    let mut kills = Kills {
        dice: Dice::new(args.seed),
        arguments: arguments(args, &place, u64::MAX),
        without_journal: args.without_journal,
        process: 1,
        lifetime: Duration::from_millis(50),
        stages: BTreeMap::new(),
    };
    // The last process of a group finishes all orders. Without a journal, their callers repeat them.
    let (last, start) = match args.without_journal {
        true => (arguments(args, &place, 0), Start::Retry),
        false => (arguments(args, &place, u64::MAX), Start::Finish),
    };
    let bar = progress(args.kills, "kills")?;
    let mut tally = Tally::default();
    let mut left = args.kills;
    while left > 0 {
        let mut group = Group::new(left, ledgers.path(), Takeovers::Fault);
        for _ in 0..left.min(KILLS_OF_A_GROUP) {
            kills.kill_one(&mut group).await?;
            bar.inc(1);
        }
        left = left.saturating_sub(KILLS_OF_A_GROUP);
        group.finish(&last, kills.next_process(), start).await?;
        tally += group.judge(&*store).await?;
    }
    bar.finish_and_clear();
    println!("{} kills\n{tally}", args.kills);
    let stages = kills.stages.iter().map(|(stage, count)| format!("{stage} {count}"));
    println!(
        "unfinished orders at the kills, by their last effect: {}",
        stages.collect::<Vec<_>>().join(", ")
    );
    Ok(exit_code(args, &tally))
}

fn exit_code(args: &Args, tally: &Tally) -> ExitCode {
    let is_expected = match args.without_journal {
        true => tally.count(Fault::Repeated) > 0,
        false => tally.is_clean() && tally.turns > 0,
    };
    if is_expected { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

impl Kills {
    fn next_process(&mut self) -> u32 {
        self.process += 1;
        self.process
    }

    /// Kills a process after its start or in one of its orders.
    async fn kill_one(&mut self, group: &mut Group) -> anyhow::Result<()> {
        let start = match self.dice.below(4) {
            _ if self.without_journal => Start::Retry,
            0 => Start::Recover,
            1 => Start::Meanwhile,
            2 => Start::NextCall,
            _ => Start::Retry,
        };
        let process = self.next_process();
        let mut running = group.start(&self.arguments, process, start)?;
        let delay = match self.dice.below(3) {
            0 => self.dice.below(AFTER_START),
            _ => {
                running.until_began(1 + self.dice.below(8), PATIENCE).await;
                self.dice.below(u64::try_from(self.lifetime.as_micros())?)
            }
        };
        precise_sleep(Duration::from_micros(delay)).await?;
        let status = running.child.try_wait()?;
        anyhow::ensure!(status.is_none(), "the process ended by itself: {status:?}");
        running.child.kill().await?;
        if let Some(longest) = group.end(running).await? {
            self.lifetime = (self.lifetime * 7 + longest) / 8;
        }
        group.count_stages(&mut self.stages)
    }
}

/// Sleeps without the granularity of Tokio's timers, which is a large part of a turn.
async fn precise_sleep(duration: Duration) -> anyhow::Result<()> {
    Ok(tokio::task::spawn_blocking(move || std::thread::sleep(duration)).await?)
}

async fn pause_all(args: &Args, pauses: u64) -> anyhow::Result<ExitCode> {
    let (stage, ledgers) = (Stage::set(args.store)?, TempDir::new()?);
    let bar = progress(pauses, "pauses")?;
    let pairs = (0..PAIRS).map(|pair| {
        let (numbers, bar) = ((pair..pauses).step_by(PAIRS as usize), &bar);
        let (place, directory) = (stage.fresh_place(pair), ledgers.path());
        async move {
            let mut tally = Tally::default();
            for number in numbers {
                tally += pause_one(args, &place, directory, number).await?;
                bar.inc(1);
            }
            anyhow::Ok(tally)
        }
    });
    let tallies = try_join_all(pairs).await?;
    bar.finish_and_clear();
    let mut tally = Tally::default();
    tallies.into_iter().for_each(|own| tally += own);
    println!("{pauses} pauses\n{tally}");
    Ok(exit_code(args, &tally))
}

/// Stops a process for longer than its lease while another process resumes its turns.
async fn pause_one(
    args: &Args,
    place: &Place,
    directory: &Path,
    number: u64,
) -> anyhow::Result<Tally> {
    let mut dice = Dice::new(args.seed ^ number << 32);
    let store = place.open(None, Some(0)).await?;
    let arguments = arguments(args, place, ORDERS);
    let mut group = Group::new(number, directory, Takeovers::Expected);

    let mut first = group.start(&arguments, 1, Start::NextCall)?;
    first.until_began(1 + dice.below(8), PATIENCE).await;
    precise_sleep(Duration::from_micros(dice.below(AFTER_START))).await?;
    signal("STOP", &first).await?;
    group.observe(&first);
    let start = match dice.below(4) {
        0 => Start::Finish,
        1 => Start::Meanwhile,
        2 if args.repeat => Start::Retry,
        _ => Start::NextCall,
    };
    let mut second = group.start(&arguments, 2, start)?;
    if args.leases {
        sleep(LEASE + Duration::from_millis(100 + dice.below(300))).await;
    }
    // If the first process was stopped in a transaction, the other one waits for it.
    let _ = timeout(Duration::from_secs(1), second.child.wait()).await;
    signal("CONT", &first).await?;
    try_join(first.until_ended(), second.until_ended()).await?;
    group.end(first).await?;
    group.end(second).await?;

    group.finish(&arguments, 3, Start::Finish).await?;
    group.judge(&*store).await
}

async fn signal(name: &str, process: &Running) -> anyhow::Result<()> {
    let pid = process.child.id().context("the process was awaited")?.to_string();
    let status =
        Command::new("sh").args(["-c", r#"kill -s "$0" "$1""#, name, &pid]).status().await?;
    anyhow::ensure!(status.success(), "a process cannot be stopped or continued: {status}");
    Ok(())
}
