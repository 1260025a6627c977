//! Repeatedly kills a process that plays turns, and checks the stored turns.

#![allow(clippy::print_stdout, reason = "the result of a harness")]
#![allow(clippy::disallowed_methods, reason = "the output of a process is read while it is killed")]

use ai_services::memory::{
    Change, ConversationStore, JournalPosition, MemoryId, RequestId, TurnId,
};
use ai_services::message::ChatMessage;
use ai_services_tests::turns::check::{Acknowledged, Verdict, tag};
use ai_services_tests::turns::harness::{Dice, Stage, acknowledge, again, progress};
use ai_services_tests::turns::kind::{Kind, Point, Way};
use ai_services_tests::turns::place::Place;
use ai_services_tests::turns::play::{Player, messages};
use anyhow::Context;
use clap::{Parser, ValueEnum};
use futures_util::future::{join_all, try_join_all};
use std::collections::{BTreeMap, VecDeque};
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStdout};
use tokio::time::{sleep, timeout};

/// Number of conversations of a process, each with its own task.
const CONVERSATIONS: u64 = 4;

/// Number of turns that a replacement keeps.
const REMEMBERED_TURNS: usize = 4;

/// Time limit for opening the store and reading a conversation after a crash.
const REOPEN_LIMIT: Duration = Duration::from_secs(1);

/// The same limit for Cassandra, which may still have to agree on tables of the process that was killed.
const CASSANDRA_REOPEN_LIMIT: Duration = Duration::from_secs(20);

/// Time limit of a process that does not reach its failpoint.
const PATIENCE: Duration = Duration::from_secs(2);

/// Kills a process that plays turns, at random moments and at named points of the store, and checks
/// after each kill that every acknowledged turn is stored once and that no turn is incomplete.
#[derive(Clone, Debug, Parser)]
struct Args {
    /// Store
    #[arg(long)]
    store: Kind,
    /// Number of kills
    #[arg(long, default_value_t = 1_000)]
    kills: u64,
    /// Process to kill
    #[arg(long, default_value = "client")]
    victim: Victim,
    /// Seed for the moments of the kills
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Switch off the stores' caches of loaded conversations
    #[arg(long)]
    no_cache: bool,
    /// Run as this client until killed
    #[arg(long, hide = true, requires = "place")]
    client: Option<String>,
    /// Location of the store
    #[arg(long, hide = true)]
    place: Option<String>,
    /// Work of the client
    #[arg(long, hide = true, default_value = "turns")]
    way: Way,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Victim {
    /// The process that plays turns
    Client,
    /// The server of the store. All acknowledged turns must be stored after its restart
    Server,
}

#[tokio::main(worker_threads = 2)]
async fn main() -> anyhow::Result<ExitCode> {
    let args = Args::parse();
    match (&args.client, &args.place) {
        (Some(client), Some(place)) => {
            let Ok(place) = place.parse::<Place>();
            match args.way {
                Way::Turns | Way::Beginning => play(client, &place, args.no_cache).await?,
                Way::Rewrites => rewrite(client, &place).await?,
                Way::LongTurns => replace_long_turns(client, &place).await?,
                Way::Cleanups => clean_up(client, &place).await?,
                Way::Journals => keep_journals(client, &place).await?,
            }
            Ok(ExitCode::SUCCESS)
        }
        _ => direct(&args).await,
    }
}

/// Plays until the process is killed.
async fn play(client: &str, place: &Place, no_cache: bool) -> anyhow::Result<()> {
    let player = Player::new(place.open(None, no_cache.then_some(0)).await?)?;
    let tasks = (0..CONVERSATIONS).map(|number| {
        let player = &player;
        async move {
            let id = name(client, number);
            for n in 0.. {
                let tag = tag(client, n);
                match player.play(&id, &tag).await {
                    Ok(_) => acknowledge(&id, &tag)?,
                    // The turn is not acknowledged. The server may be back soon.
                    Err(_) => sleep(Duration::from_millis(10)).await,
                }
            }
            std::io::Result::Ok(())
        }
    });
    join_all(tasks).await;
    Ok(())
}

/// Replaces whole memories until the process is killed: each time by the last turns and a new one.
/// Between, it begins conversations and deletes them.
async fn rewrite(client: &str, place: &Place) -> anyhow::Result<()> {
    let store = place.open(None, None).await?;
    let tasks = (0..CONVERSATIONS).map(|number| {
        let store = &store;
        async move {
            let id = name(client, number);
            let short_lived = MemoryId::from(format!("{id}-short-lived"));
            let mut turns: VecDeque<Vec<ChatMessage>> = VecDeque::new();
            for n in 0.. {
                let tag = tag(client, n);
                turns.push_back(messages(&tag));
                turns.drain(..turns.len().saturating_sub(REMEMBERED_TURNS));
                let memory: Vec<_> = turns.iter().flatten().cloned().collect();
                replace(&*store, &id.as_str().into(), memory, &tag).await?;
                acknowledge(&id, &tag)?;
                replace(&*store, &short_lived, messages(&tag), &tag).await?;
                store.delete_messages(&short_lived).await?;
            }
            anyhow::Ok(())
        }
    });
    try_join_all(tasks).await?;
    Ok(())
}

/// Replaces memories that are too long to be evicted in one step, without acknowledgement.
async fn replace_long_turns(client: &str, place: &Place) -> anyhow::Result<()> {
    let store = place.open(None, None).await?;
    let id = MemoryId::from(name(client, 0));
    for n in 0_u64.. {
        let long = |part| tag(client, n * 3 + part) + &"x".repeat(1 << 20);
        let turns: Vec<_> = (0..3).flat_map(|part| messages(&long(part))).collect();
        replace(&*store, &id, turns, &long(2)).await?;
    }
    Ok(())
}

/// Begins conversations and deletes them together. The only guarantee is that none is left
/// half-deleted.
async fn clean_up(client: &str, place: &Place) -> anyhow::Result<()> {
    let store = place.open(None, None).await?;
    for n in 0_u64.. {
        for number in 0..CONVERSATIONS {
            let id = name(client, number);
            let tag = tag(client, n);
            replace(&*store, &id.as_str().into(), messages(&tag), &tag).await?;
        }
        store.delete_not_updated_since(SystemTime::now() + Duration::from_secs(1)).await?;
    }
    Ok(())
}

/// Writes each turn to a journal, with its tag as the records, and closes the journal with the commit.
async fn keep_journals(client: &str, place: &Place) -> anyhow::Result<()> {
    let store = place.open(None, None).await?;
    let tasks = (0..CONVERSATIONS).map(|number| {
        let store = &store;
        async move {
            let id = name(client, number);
            let memory_id = MemoryId::from(id.as_str());
            let journals = store.journals().context("the store has no journals")?;
            for n in 0.. {
                let tag = tag(client, n);
                let mut position = JournalPosition::start(TurnId::new());
                for count in [1, 3] {
                    let records = vec![tag.clone(); count];
                    position = journals.append(&memory_id, position, &records, None).await?;
                }
                let change = Change::advance(None, 0..0, messages(&tag)).closing(position);
                store.commit(&memory_id, change.with_request(RequestId::new(&*tag)?)).await?;
                acknowledge(&id, &tag)?;
            }
            anyhow::Ok(())
        }
    });
    try_join_all(tasks).await?;
    Ok(())
}

/// Replaces a memory. The tag is the id of the request.
async fn replace(
    store: &dyn ConversationStore,
    id: &MemoryId,
    messages: Vec<ChatMessage>,
    tag: &str,
) -> anyhow::Result<()> {
    let change = Change::replace(None, messages.into()).with_request(RequestId::new(tag)?);
    Ok(store.commit(id, change).await?)
}

fn name(client: &str, number: u64) -> String {
    format!("{client}-{number}")
}

/// Returns all conversations of a client. A short-lived one is stored completely or not at all.
fn names(client: &str) -> impl Iterator<Item = String> {
    let names = (0..CONVERSATIONS).map(move |number| name(client, number));
    names.flat_map(|name| [format!("{name}-short-lived"), name])
}

/// Results of all kills so far.
#[derive(Default)]
struct Outcome {
    verdict: Verdict,
    acknowledged: u64,
    slowest_reopen: Duration,
    /// Number of processes that ended at a failpoint.
    ended_at: BTreeMap<&'static str, u64>,
}

async fn direct(args: &Args) -> anyhow::Result<ExitCode> {
    let mut stage = Stage::set(args.store)?;
    let bar = progress(args.kills, "kills")?;
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
    let limit = match args.store {
        Kind::Cassandra => CASSANDRA_REOPEN_LIMIT,
        _ => REOPEN_LIMIT,
    };
    println!(
        "slowest reopening: {} ms, the limit is {} ms",
        slowest_reopen.as_millis(),
        limit.as_millis()
    );
    for (point, times) in &ended_at {
        println!("  {times} at {point}");
    }
    let is_good = verdict.is_clean() && acknowledged > 0 && slowest_reopen < limit;
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
    let points = args.store.points();
    let point = match kill % 2 {
        0 => None,
        _ => points.get((kill / 2) as usize % points.len().max(1)),
    };
    let way = match point {
        Some(Point(_, way)) => *way,
        None if dice.below(8) == 0 => Way::Rewrites,
        None => Way::Turns,
    };
    let (place, times) = match way {
        Way::Beginning => (stage.fresh_place(kill), 1),
        Way::Cleanups => (stage.fresh_place(kill), 1 + dice.below(12)),
        Way::LongTurns => (stage.place(), 1),
        Way::Turns | Way::Rewrites | Way::Journals => (stage.place(), 1 + dice.below(12)),
    };
    let point = point.map(|Point(name, _)| *name);
    let failpoint = point.map(|name| format!("{name}:{times}"));
    let mut child = start(args, &client, way, &place, failpoint.as_deref())?;
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
    let store = place.open(None, None).await?;
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
    let mut child = start(args, &client, Way::Turns, &place, None)?;
    let out = child.stdout.take().context("the process has no output")?;
    let told = tokio::spawn(listen(out));
    sleep(Duration::from_millis(100 + dice.below(300))).await;
    stage.crash_server()?;
    let began = Instant::now();
    let store = place.open(None, None).await?;
    store.load(&name(&client, 0).into()).await?;
    outcome.slowest_reopen = outcome.slowest_reopen.max(began.elapsed());
    // The process reconnects to the server.
    sleep(Duration::from_millis(200 + dice.below(200))).await;
    child.kill().await?;
    let acknowledged = told.await??;
    outcome.acknowledged += acknowledged.count();
    outcome.verdict += acknowledged.check(&*store, names(&client)).await?;
    Ok(())
}

fn start(
    args: &Args,
    client: &str,
    way: Way,
    place: &Place,
    point: Option<&str>,
) -> anyhow::Result<Child> {
    let way = way.to_possible_value();
    let mut arguments = vec![
        args.store.as_argument(),
        format!("--client={client}"),
        format!("--way={}", way.as_ref().map_or("", |way| way.get_name())),
        format!("--place={place}"),
    ];
    arguments.extend(args.no_cache.then(|| "--no-cache".to_owned()));
    again(&arguments, point)
}

/// Reads the output of the process before it was killed.
async fn listen(out: ChildStdout) -> anyhow::Result<Acknowledged> {
    let mut turns = Acknowledged::default();
    let mut lines = BufReader::new(out).lines();
    while let Some(line) = lines.next_line().await? {
        let (id, tag) = line.rsplit_once(' ').context("invalid output of the process")?;
        turns.add(id, tag);
    }
    Ok(turns)
}
