//! Kills a process that plays turns, again and again, and checks what is left of them.

#![allow(clippy::print_stdout, reason = "the result of a harness")]

use ai_services_tests::turns::check::{Acknowledged, Verdict, tag};
use ai_services_tests::turns::harness::{Dice, Kind, Stage, acknowledge, again};
use ai_services_tests::turns::place::Place;
use ai_services_tests::turns::play::Player;
use anyhow::Context;
use clap::{Parser, ValueEnum};
use futures_util::future::join_all;
use indicatif::{ProgressBar, ProgressStyle};
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStdout};
use tokio::time::{sleep, timeout};

/// How many conversations a process has, each with a task of its own.
const CONVERSATIONS: u64 = 4;

/// How long opening the store and reading a conversation may take after a crash.
const REOPEN_LIMIT: Duration = Duration::from_secs(1);

/// How long a process plays at most, if it does not come to its point.
const PATIENCE: Duration = Duration::from_secs(2);

/// Kills a process that plays turns, at random moments and at named points of the store, and checks
/// after each kill that every acknowledged turn is there once and that no half of one is.
#[derive(Clone, Debug, Parser)]
struct Args {
    /// Which store
    #[arg(long)]
    store: Kind,
    /// How many kills
    #[arg(long, default_value_t = 1_000)]
    kills: u64,
    /// Who is killed
    #[arg(long, default_value = "client")]
    victim: Victim,
    /// For the moments of the kills
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Play turns as this client until killed
    #[arg(long, hide = true, requires = "place")]
    client: Option<String>,
    /// Where the store is
    #[arg(long, hide = true)]
    place: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Victim {
    /// The process that plays
    Client,
    /// The server of the store; what was acknowledged before must be there when it is back
    Server,
}

#[tokio::main(worker_threads = 2)]
async fn main() -> anyhow::Result<ExitCode> {
    let args = Args::parse();
    match (&args.client, &args.place) {
        (Some(client), Some(place)) => {
            let Ok(place) = place.parse::<Place>();
            play(client, &place).await?;
            Ok(ExitCode::SUCCESS)
        }
        _ => direct(&args).await,
    }
}

/// Plays until the process is killed.
async fn play(client: &str, place: &Place) -> anyhow::Result<()> {
    let player = Player::new(place.open(None).await?)?;
    let tasks = (0..CONVERSATIONS).map(|number| {
        let player = &player;
        async move {
            let id = name(client, number);
            for n in 0.. {
                let tag = tag(client, n);
                match player.play(&id, &tag).await {
                    Ok(_) => acknowledge(&id, &tag)?,
                    // Nobody is told that the turn succeeded. The server may be back soon.
                    Err(_) => sleep(Duration::from_millis(10)).await,
                }
            }
            std::io::Result::Ok(())
        }
    });
    join_all(tasks).await;
    Ok(())
}

fn name(client: &str, number: u64) -> String {
    format!("{client}-{number}")
}

fn names(client: &str) -> impl Iterator<Item = String> {
    (0..CONVERSATIONS).map(move |number| name(client, number))
}

/// What came out of all kills so far.
#[derive(Default)]
struct Outcome {
    verdict: Verdict,
    acknowledged: u64,
    slowest_reopen: Duration,
    /// How often a process ended at a point of its own.
    ended_at: BTreeMap<&'static str, u64>,
}

async fn direct(args: &Args) -> anyhow::Result<ExitCode> {
    let mut stage = Stage::set(args.store)?;
    let bar = ProgressBar::new(args.kills);
    bar.set_style(ProgressStyle::with_template("{bar:40} {pos}/{len} kills, {eta} left")?);
    let mut dice = Dice::new(args.seed);
    let mut outcome = Outcome::default();
    for kill in 0..args.kills {
        match args.victim {
            Victim::Client => kill_client(&stage, args, kill, &mut dice, &mut outcome).await?,
            Victim::Server => kill_server(&mut stage, args, kill, &mut dice, &mut outcome).await?,
        }
        bar.inc(1);
    }
    bar.finish_and_clear();

    let Outcome { verdict, acknowledged, slowest_reopen, ended_at } = outcome;
    println!("{} kills, {acknowledged} turns acknowledged, {verdict}", args.kills);
    println!("slowest reopening: {} ms", slowest_reopen.as_millis());
    for (point, times) in &ended_at {
        println!("  {times} at {point}");
    }
    let is_good = verdict.is_clean() && acknowledged > 0 && slowest_reopen < REOPEN_LIMIT;
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Kills the process at a random moment or at a point of the store, in turns.
async fn kill_client(
    stage: &Stage,
    args: &Args,
    kill: u64,
    dice: &mut Dice,
    outcome: &mut Outcome,
) -> anyhow::Result<()> {
    let client = format!("c{kill}");
    let points = points(args.store);
    let point = match kill % 2 {
        0 => None,
        _ => points.get((kill / 2) as usize % points.len().max(1)).copied(),
    };
    // A point that is reached once only, with a store that is not there yet.
    let is_beginning = point.is_some_and(|point| point.ends_with("migration"));
    let place = if is_beginning { stage.fresh_place(kill) } else { stage.place() };
    let times = if is_beginning { 1 } else { 1 + dice.below(12) };
    let failpoint = point.map(|point| format!("{point}:{times}"));
    let mut child = start(args, &client, &place, failpoint.as_deref())?;
    let out = child.stdout.take().context("the process has no output")?;
    let told = tokio::spawn(listen(out));
    // From the opening of the store to some dozens of turns.
    let patience = point.map_or(Duration::from_micros(dice.below(80_000)), |_| PATIENCE);
    if timeout(patience, child.wait()).await.is_ok() {
        *outcome.ended_at.entry(point.context("the process ended by itself")?).or_default() += 1;
    }
    child.kill().await?;
    let acknowledged = told.await??;

    let began = Instant::now();
    let store = place.open(None).await?;
    store.load(&name(&client, 0).into()).await?;
    outcome.slowest_reopen = outcome.slowest_reopen.max(began.elapsed());
    outcome.acknowledged += acknowledged.count();
    outcome.verdict += acknowledged.check(&*store, names(&client)).await?;
    Ok(())
}

/// Kills the server while the process plays, and the process when the server is back.
async fn kill_server(
    stage: &mut Stage,
    args: &Args,
    kill: u64,
    dice: &mut Dice,
    outcome: &mut Outcome,
) -> anyhow::Result<()> {
    let (place, client) = (stage.place(), format!("c{kill}"));
    let mut child = start(args, &client, &place, None)?;
    let out = child.stdout.take().context("the process has no output")?;
    let told = tokio::spawn(listen(out));
    sleep(Duration::from_millis(100 + dice.below(300))).await;
    stage.crash_server()?;
    let began = Instant::now();
    let store = place.open(None).await?;
    store.load(&name(&client, 0).into()).await?;
    outcome.slowest_reopen = outcome.slowest_reopen.max(began.elapsed());
    // The process finds the server again by itself.
    sleep(Duration::from_millis(200 + dice.below(200))).await;
    child.kill().await?;
    let acknowledged = told.await??;
    outcome.acknowledged += acknowledged.count();
    outcome.verdict += acknowledged.check(&*store, names(&client)).await?;
    Ok(())
}

fn start(args: &Args, client: &str, place: &Place, point: Option<&str>) -> anyhow::Result<Child> {
    let arguments =
        [args.store.as_argument(), format!("--client={client}"), format!("--place={place}")];
    again(&arguments, point)
}

/// What the process told before it was killed.
async fn listen(out: ChildStdout) -> anyhow::Result<Acknowledged> {
    let mut turns = Acknowledged::default();
    let mut lines = BufReader::new(out).lines();
    while let Some(line) = lines.next_line().await? {
        let (id, tag) = line.rsplit_once(' ').context("the process told nonsense")?;
        turns.add(id, tag);
    }
    Ok(turns)
}

/// The points at which a store can be told to end the process.
fn points(store: Kind) -> &'static [&'static str] {
    match store {
        Kind::Sqlite => &[
            "sqlite.in_migration",
            "sqlite.before_begin",
            "sqlite.after_begin",
            "sqlite.after_version_check",
            "sqlite.after_eviction",
            "sqlite.after_append",
            "sqlite.after_head",
            "sqlite.before_commit",
            "sqlite.after_commit",
            "sqlite.before_answer",
        ],
        Kind::Postgres => &[],
        Kind::Redis => &[],
    }
}
