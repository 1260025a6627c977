//! Runs a client against a hostile server over each transport, and measures its time and memory.

use crate::behavior::Behavior;
use crate::server::HostileServer;
use ai_services::mcp::{Era, RemoteServer};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Transport {
    Stdio,
    Http,
}

pub(crate) const BOTH: &[Transport] = &[Transport::Stdio, Transport::Http];

/// Most bytes that a hostile server may make the client use, over those of a client with an honest server.
const MAX_GROWTH: u64 = 64 << 20;

/// The environment variable of a process that runs one test.
const ALONE: &str = "HOSTILE_MCP_SERVER_TEST";

/// Resident memory of a client with an honest server, in bytes.
static IDLE: OnceLock<u64> = OnceLock::new();

/// Runs a test in a process of its own, because memory and children belong to the process.
pub(crate) fn alone<F: FnOnce()>(test: F) {
    if std::env::var_os(ALONE).is_some() {
        return test();
    }
    // The closure of a test is named after it.
    let path = std::any::type_name::<F>().trim_end_matches("::{{closure}}");
    let name = path.split_once("::").unwrap().1;
    let mut process = Command::new(std::env::current_exe().unwrap());
    process.args(["--exact", name, "--nocapture"]).env(ALONE, "1");
    let output = process.output().unwrap();
    let [text, errors] =
        [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    println!("{text}");
    assert!(text.contains("1 passed"), "{errors}");
}

/// Runs a check against a server over these transports, and in these eras.
///
/// Panics if a check takes longer than the limit, if memory grows by more than 64 MiB, or if a child process is left.
pub(crate) fn against(
    behavior: Behavior,
    transports: &[Transport],
    eras: &[Era],
    limit: Duration,
    check: impl AsyncFn(RemoteServer),
) {
    let idle = *IDLE.get_or_init(|| {
        for transport in BOTH {
            let server = HostileServer::start(Behavior::Honest, *transport);
            run(&server, Era::Legacy, async |remote| super::acts(remote, "done").await);
        }
        memory("VmRSS")
    });
    for (transport, era) in transports.iter().flat_map(|one| eras.iter().map(move |era| (one, era)))
    {
        let server = HostileServer::start(behavior, *transport);
        // Sets the peak of the process to its current memory.
        std::fs::write("/proc/self/clear_refs", "5").unwrap();
        let started = Instant::now();
        run(&server, *era, &check);
        let (elapsed, growth) = (started.elapsed(), memory("VmHWM").saturating_sub(idle));
        let name = format!("{behavior:?}, {transport:?}, {era:?}");
        println!("{name}: {} ms, {} KiB", elapsed.as_millis(), growth >> 10);
        assert!(elapsed < limit, "{name}: {elapsed:?}");
        assert!(growth < MAX_GROWTH, "{name}: {growth} bytes");
    }
}

/// Runs a check, and waits until its child processes are gone.
fn run(server: &HostileServer, era: Era, check: impl AsyncFn(RemoteServer)) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let others = children();
        check(server.remote(era)).await;
        let end = Instant::now() + Duration::from_secs(20);
        while children() != others {
            assert!(Instant::now() < end, "left: {:?}, before: {others:?}", children());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
}

/// Returns a line of the status of this process, in bytes.
fn memory(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

/// Returns the children of this process, also zombies.
fn children() -> Vec<String> {
    let parent = std::process::id().to_string();
    let processes = std::fs::read_dir("/proc").unwrap().map_while(Result::ok);
    let names = processes.filter_map(|entry| entry.file_name().into_string().ok());
    let mut children: Vec<_> =
        names.filter(|name| parent_of(name) == Some(parent.clone())).collect();
    children.sort_unstable();
    children
}

fn parent_of(process: &str) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name of the program may have spaces.
    stat.rsplit_once(") ")?.1.split(' ').nth(1).map(str::to_owned)
}
