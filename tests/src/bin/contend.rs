//! Lets several processes play turns in the same conversations, and checks that each turn is stored once.

#![allow(clippy::print_stdout, reason = "the result of a harness")]

use ai_services::memory::LeaseOptions;
use ai_services_tests::turns::check::{Acknowledged, Requests, tag};
use ai_services_tests::turns::harness::{Dice, Stage, acknowledge, again, progress};
use ai_services_tests::turns::kind::Kind;
use ai_services_tests::turns::place::Place;
use ai_services_tests::turns::play::Player;
use anyhow::Context;
use clap::Parser;
use futures_util::future::{try_join, try_join_all};
use indicatif::ProgressBar;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Child;

/// Number of concurrent turns of a process.
const TASKS: u64 = 8;

/// First word of a line about the request of a turn.
const REQUEST: &str = "request";

/// Several processes play turns in the same conversations; a checker looks for lost, duplicated,
/// incomplete and interleaved turns.
#[derive(Clone, Debug, Parser)]
struct Args {
    /// Store
    #[arg(long)]
    store: Kind,
    /// Number of processes
    #[arg(long, default_value_t = 4)]
    processes: u64,
    /// Number of conversations
    #[arg(long, default_value_t = 100)]
    ids: u64,
    /// Number of turns of all processes
    #[arg(long, default_value_t = 10_000)]
    turns: u64,
    /// Use leases, so that no model call is wasted
    #[arg(long)]
    leases: bool,
    /// Switch off the stores' caches of loaded conversations
    #[arg(long)]
    no_cache: bool,
    /// Check that every request contains exactly the turns that were committed before it
    #[arg(long)]
    stale: bool,
    /// Seed for the choice of conversations
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Run as the child process with this number
    #[arg(long, hide = true, requires = "place")]
    process: Option<u64>,
    /// Location of the store
    #[arg(long, hide = true)]
    place: Option<String>,
}

#[tokio::main(worker_threads = 2)]
async fn main() -> anyhow::Result<ExitCode> {
    let args = Args::parse();
    match (args.process, &args.place) {
        (Some(process), Some(place)) => {
            let Ok(place) = place.parse::<Place>();
            play(&args, process, &place).await?;
            Ok(ExitCode::SUCCESS)
        }
        _ => direct(&args).await,
    }
}

/// One process: several tasks, each with its own client.
async fn play(args: &Args, process: u64, place: &Place) -> anyhow::Result<()> {
    let leases = args.leases.then(LeaseOptions::new);
    let player = Player::new(place.open(leases, args.no_cache.then_some(0)).await?)?;
    let turns = share(args.turns, args.processes, process);
    let conflicts = AtomicU64::new(0);
    let tasks = (0..TASKS).map(|task| {
        let (player, conflicts) = (&player, &conflicts);
        async move {
            let client = format!("p{process}t{task}");
            let mut dice = Dice::new(args.seed ^ (process * TASKS + task) << 32);
            for n in 0..share(turns, TASKS, task) {
                let id = name(dice.below(args.ids));
                let tag = tag(&client, n);
                let played = player.play(&id, &tag).await?;
                conflicts.fetch_add(played.conflicts, Ordering::Relaxed);
                if args.stale {
                    acknowledge(REQUEST, &format!("{tag}={}", played.earlier.join(",")))?;
                }
                acknowledge(&id, &tag)?;
            }
            anyhow::Ok(())
        }
    });
    try_join_all(tasks).await?;
    Ok(acknowledge("conflicts", &conflicts.into_inner().to_string())?)
}

/// Returns the share of one of `count` processes. The shares add up to `all`.
fn share(all: u64, count: u64, index: u64) -> u64 {
    all / count.max(1) + u64::from(index < all % count.max(1))
}

fn name(id: u64) -> String {
    format!("conversation {id}")
}

/// Starts the processes, reads their output, checks the store.
async fn direct(args: &Args) -> anyhow::Result<ExitCode> {
    let stage = Stage::set(args.store)?;
    let place = stage.place();
    let store = place.open(None, Some(0)).await?;
    let bar = progress(args.turns, "turns")?;

    let began = Instant::now();
    let mut children = Vec::new();
    for process in 0..args.processes {
        children.push(listen(again(&arguments(args, process, &place), None)?, bar.clone()));
    }
    let told = try_join_all(children).await?;
    let took = began.elapsed();
    bar.finish_and_clear();

    let (mut acknowledged, mut requests) = (Acknowledged::default(), Requests::default());
    let mut conflicts = 0;
    for Report { turns, requests: its, conflicts: own_conflicts } in told {
        acknowledged.extend(turns);
        requests.extend(its);
        conflicts += own_conflicts;
    }
    let verdict = acknowledged.check(&*store, (0..args.ids).map(name)).await?;
    let count = acknowledged.count();
    println!("{} turns, {count} acknowledged, {verdict}", args.turns);
    println!(
        "{} processes, {} conversations, {:.1} s, {:.0} turns/s, {conflicts} conflicts after replays",
        args.processes,
        args.ids,
        took.as_secs_f64(),
        count as f64 / took.as_secs_f64(),
    );
    let (stale, examples) = requests.stale(&*store, (0..args.ids).map(name)).await?;
    if args.stale {
        println!("{stale} stale requests");
        examples.iter().for_each(|example| println!("  {example}"));
    }
    let is_good = verdict.is_clean() && count == args.turns && verdict.unacknowledged == 0;
    let is_good = is_good && stale == 0;
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn arguments(args: &Args, process: u64, place: &Place) -> Vec<String> {
    let mut arguments = vec![
        args.store.as_argument(),
        format!("--place={place}"),
        format!("--process={process}"),
        format!("--processes={}", args.processes),
        format!("--ids={}", args.ids),
        format!("--turns={}", args.turns),
        format!("--seed={}", args.seed),
    ];
    let switches =
        [(args.leases, "--leases"), (args.no_cache, "--no-cache"), (args.stale, "--stale")];
    let switches = switches.into_iter().filter(|(is_on, _)| *is_on);
    arguments.extend(switches.map(|(_, switch)| switch.to_owned()));
    arguments
}

/// The output of a process.
#[derive(Default)]
struct Report {
    turns: Acknowledged,
    requests: Requests,
    conflicts: u64,
}

/// Reads the output of a process until it ends.
async fn listen(mut child: Child, bar: ProgressBar) -> anyhow::Result<Report> {
    let out = child.stdout.take().context("the process has no output")?;
    let reading = async {
        let mut report = Report::default();
        let mut lines = BufReader::new(out).lines();
        while let Some(line) = lines.next_line().await? {
            let (id, tag) = line.rsplit_once(' ').context("invalid output of the process")?;
            match id {
                "conflicts" => report.conflicts = tag.parse()?,
                REQUEST => {
                    let (tag, earlier) = tag.split_once('=').context("invalid request")?;
                    let earlier = earlier.split(',').filter(|tag| !tag.is_empty());
                    report.requests.add(tag, earlier.map(str::to_owned).collect());
                }
                _ => {
                    report.turns.add(id, tag);
                    bar.inc(1);
                }
            }
        }
        anyhow::Ok(report)
    };
    let (told, status) = try_join(reading, async { Ok(child.wait().await?) }).await?;
    anyhow::ensure!(status.success(), "a process failed: {status}");
    Ok(told)
}
