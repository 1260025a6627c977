//! Servers start on demand, keep their data when they are killed, and end with their test.

use ai_services_tests::servers::postgres::{self, Postgres};
use ai_services_tests::servers::process::{Supervised, is_running, poll};
use ai_services_tests::servers::redis::{self, Redis};
use ai_services_tests::servers::{free_port, installed};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(5);

#[test]
fn postgres_keeps_its_data_when_it_is_killed_at_work() {
    let Some(mut server) = postgres::start() else { return };
    psql(&server, "create table t (v text); insert into t values ('é1')");
    let mut busy = psql_command(&server, "select pg_sleep(1000)").spawn().unwrap();
    let is_busy = "select count(*) from pg_stat_activity where wait_event = 'PgSleep'";
    assert!(poll(LIMIT, || psql(&server, is_busy) == "1"));

    server.kill9();
    assert!(!busy.wait().unwrap().success(), "its client was cut off");
    assert!(connect(&server.url()).is_err());

    server.restart();
    assert_eq!(psql(&server, "select v from t"), "é1");
    assert_eq!(psql(&server, "show fsync"), "on");
    assert_eq!(psql(&server, "show server_encoding"), "UTF8");
}

#[test]
fn postgres_is_shared_by_the_process() {
    let Some(server) = postgres::shared() else { return };
    assert_eq!(postgres::shared().unwrap().url(), server.url());
    assert_eq!(psql(server, "select 1"), "1");
}

#[test]
fn redis_keeps_its_data_when_it_is_killed() {
    let Some(mut server) = redis::start() else { return };
    assert_eq!(resp(&server, &["SET", "k", "é 1\r\n"]), "+OK\r\n");

    server.kill9();
    assert!(connect(&server.url()).is_err());

    server.restart();
    assert_eq!(resp(&server, &["GET", "k"]), "$6\r\né 1\r\n\r\n");
}

#[test]
fn redis_is_shared_by_the_process_and_asks_for_the_password() {
    let Some(server) = redis::shared() else { return };
    assert_eq!(redis::shared().unwrap().url(), server.url());
    let mut connection = connect(&server.url()).unwrap();
    connection.write_all(b"GET k\r\nQUIT\r\n").unwrap();
    let mut answers = String::new();
    connection.read_to_string(&mut answers).unwrap();
    assert!(answers.starts_with("-NOAUTH"), "{answers}");
}

#[test]
fn server_ends_when_its_test_process_is_killed() {
    let (mut owner, family, directory) = owner_with_a_server();
    owner.kill().unwrap();
    owner.wait().unwrap();
    assert_gone(&family, &directory);
}

#[test]
fn server_in_a_static_ends_when_its_test_process_exits() {
    let (mut owner, family, directory) = owner_with_a_server();
    drop(owner.stdin.take());
    assert!(owner.wait().unwrap().success());
    assert_gone(&family, &directory);
}

#[test]
fn server_ends_when_its_value_is_dropped() {
    let (server, family) = server_with_a_child();
    let directory = server.directory().to_owned();
    drop(server);
    assert!(!directory.exists());
    assert_gone(&family, &directory);
}

#[test]
fn server_with_an_ending_can_clean_up() {
    let mut server = Supervised::new("polite", None);
    server.ended_by("TERM");
    let note = std::env::temp_dir().join(format!("goodbye-{}", std::process::id()));
    let script =
        "trap 'echo bye > \"$NOTE\"; exit' TERM; echo ready > ready; while :; do sleep 0.01; done";
    server.start(Command::new("sh").args(["-c", script]).env("NOTE", &note));
    server.until_ready(LIMIT, || server.directory().join("ready").exists());
    drop(server);
    let written = std::fs::read_to_string(&note);
    std::fs::remove_file(&note).unwrap();
    assert_eq!(written.unwrap(), "bye\n");
}

#[test]
fn killed_server_ends_with_its_descendants_and_restarts() {
    let (mut server, family) = server_with_a_child();
    server.kill9();
    assert_ended(&family);
    assert!(server.directory().join("child").exists(), "the directory stays");
    assert!(!server.is_running());

    server.start(
        Command::new("sh").args(["-c", r#"echo "it's $A"; exec sleep 1000"#]).env("A", "b c"),
    );
    server.until_ready(LIMIT, || server.log_tail().ends_with("it's b c"));
}

#[test]
#[should_panic(expected = "lame ended while it was starting:\nno port for me")]
fn server_that_does_not_start_shows_its_log() {
    let mut server = Supervised::new("lame", None);
    server.start(Command::new("sh").args(["-c", "echo no port for me >&2; exit 1"]));
    server.until_ready(LIMIT, || false);
}

#[test]
#[should_panic(expected = "fails:\nno room")]
fn preparation_that_fails_shows_its_log() {
    Supervised::new("lame", None).run(Command::new("sh").args(["-c", "echo no room; exit 3"]));
}

#[test]
fn free_ports_differ() {
    assert_ne!(free_port(), free_port());
}

#[test]
fn missing_server_is_an_error_on_ci_only() {
    const NAME: &str = "the server of this test";
    assert_eq!(installed(Some(1), NAME, "none"), Some(1));
    let missing = std::panic::catch_unwind(|| installed(None::<u8>, NAME, "none"));
    assert_eq!(missing.is_err(), std::env::var_os("CI").is_some());
}

/// The child process of other tests: it holds a server in a `static` and waits.
#[test]
#[ignore = "other tests run it as a process of its own"]
fn owner() {
    static SERVER: OnceLock<Supervised> = OnceLock::new();
    let (server, family) = server_with_a_child();
    let server = SERVER.get_or_init(|| server);
    println!("\nowner {} {} {}", family[0], family[1], server.directory().display());
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

/// A process that runs [`owner`], the process ids of its server and of the server's child, and the directory.
fn owner_with_a_server() -> (Child, Vec<u32>, PathBuf) {
    let mut owner = Command::new(std::env::current_exe().unwrap());
    owner.args(["servers::owner", "--exact", "--ignored", "--nocapture"]);
    let mut owner = owner.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let output = BufReader::new(owner.stdout.as_mut().unwrap());
    let mut lines = output.lines().map(|line| line.unwrap());
    let line = lines.find_map(|line| Some(line.strip_prefix("owner ")?.to_owned())).unwrap();
    let mut words = line.splitn(3, ' ');
    let family: Vec<u32> = words.by_ref().take(2).map(|pid| pid.parse().unwrap()).collect();
    assert!(family.iter().all(|pid| is_running(*pid)));
    (owner, family, words.next().unwrap().into())
}

/// A server with a child that ignores signals, and the process ids of both.
fn server_with_a_child() -> (Supervised, Vec<u32>) {
    let mut server = Supervised::new("family", None);
    let script = "trap '' HUP INT TERM; sleep 1000 & echo $! > new && mv new child; wait";
    server.start(Command::new("sh").args(["-c", script]));
    let child = server.directory().join("child");
    server.until_ready(LIMIT, || child.exists());
    let child = std::fs::read_to_string(child).unwrap().trim().parse().unwrap();
    let family = vec![server.pid().unwrap(), child];
    (server, family)
}

fn assert_gone(family: &[u32], directory: &Path) {
    assert_ended(family);
    assert!(poll(LIMIT, || !directory.exists()));
}

/// A process closes its files before it ends.
fn assert_ended(family: &[u32]) {
    assert!(poll(LIMIT, || !family.iter().any(|pid| is_running(*pid))));
}

fn psql(server: &Postgres, sql: &str) -> String {
    let output = psql_command(server, sql).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

fn psql_command(server: &Postgres, sql: &str) -> Command {
    let mut psql = Command::new(server.programs().join("psql"));
    psql.args([&server.url(), "-XAtqc", sql]).env("PGCLIENTENCODING", "UTF8");
    psql.stderr(Stdio::piped());
    psql
}

/// Returns the answer of the server to one command.
fn resp(server: &Redis, command: &[&str]) -> String {
    let url = server.url();
    let password = url.strip_prefix("redis://:").unwrap().split_once('@').unwrap().0;
    let mut connection = connect(&url).unwrap();
    for words in [&["AUTH", password], command, &["QUIT"]] {
        let bulk: String = words.iter().map(|it| format!("${}\r\n{it}\r\n", it.len())).collect();
        write!(connection, "*{}\r\n{bulk}", words.len()).unwrap();
    }
    let mut answers = String::new();
    connection.read_to_string(&mut answers).unwrap();
    let answer = answers.strip_prefix("+OK\r\n").and_then(|it| it.strip_suffix("+OK\r\n"));
    answer.unwrap().to_owned()
}

/// Connects to the address of a URL.
fn connect(url: &str) -> std::io::Result<TcpStream> {
    let address = url.split_once('@').unwrap().1.split_once('/').unwrap().0;
    TcpStream::connect(address)
}
