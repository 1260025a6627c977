//! Server processes that end with the test process, whatever the reason for its end.
//!
//! The server is not a child of the test process but of a watchdog, a small `sh` program that reads commands
//! from a pipe. The test process holds the other end. When the test process dies, even by `SIGKILL` or with
//! the server in a `static`, the pipe is closed, and the watchdog ends the server and removes its directory.

#![allow(clippy::expect_used, clippy::panic, reason = "a test cannot continue without its server")]

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// The watchdog. Runs one server until its standard input is closed, and answers every command with one line.
/// `$1` is the name of the server.
const WATCHDOG: &str = r#"
directory='' server='' signal=KILL

# Prints the process and its descendants. Stops each process first, so that it cannot create further children.
# Waits until it has stopped, because a signal takes effect only after the current system call, which may be `fork`.
family() {
    kill -s STOP "$1"
    while grep -qs '^State:[[:space:]]*[RSDI]' /proc/"$1"/task/*/status; do :; done
    echo "$1"
    for child in $(grep -ls "^PPid:[[:space:]]*$1\$" /proc/[0-9]*/status); do
        child=${child%/status}
        family "${child##*/}"
    done
}

# Returns whether the server is still a child. If it has ended, its id may belong to another process.
is_child() {
    [ -n "$server" ] && grep -qs "^PPid:[[:space:]]*$$\$" "/proc/$server/status"
}

# Process groups do not work: each process of PostgreSQL has its own group.
kill9() {
    [ -n "$server" ] || return 0
    if is_child; then kill -s KILL $(family "$server"); fi
    server_is_gone
}

# The pipe of `all` is closed when the last process that has inherited it has ended.
server_is_gone() {
    wait "$server"
    status=$?
    wait "$all"
    server=''
}

end() {
    tries=0
    if [ "$signal" != KILL ] && is_child; then kill -s "$signal" "$server"; fi
    while [ "$signal" != KILL ] && [ "$tries" -lt 250 ] && is_child; do
        sleep 0.02
        tries=$((tries + 1))
    done
    kill9
    cd / && rm -rf "$directory"
}

# Writing an answer after the reader has ended must not kill the watchdog. Traps, unlike ignored signals, are
# not inherited by the server.
trap : PIPE
trap 'end; exit' HUP INT TERM

directory=$(mktemp -d "${TMPDIR:-/tmp}/ai-services-$1.XXXXXX" 2> /dev/null) ||
    directory=$(mktemp -d "/tmp/ai-services-$1.XXXXXX") || exit
cd "$directory" && mkfifo alive || exit
exec 2>> log
echo "$directory"

while IFS= read -r order; do
    case $order in
    start\ *)
        kill9
        eval "set -- ${order#start }"
        # Opened here, because a child that opens one end blocks for ever if the other process dies first.
        exec 9<> alive 8< alive
        cat <&8 > /dev/null 8<&- 9<&- &
        all=$!
        "$@" < /dev/null >> log 2>&1 8<&- &
        server=$!
        exec 8<&- 9<&-
        echo "$server"
        ;;
    wait)
        server_is_gone
        echo "$status"
        ;;
    kill)
        kill9
        echo killed
        ;;
    signal\ *)
        signal=${order#signal }
        echo "$signal"
        ;;
    esac
done
end
"#;

/// A server in its own temporary directory.
///
/// The server ends and the directory is removed when the value is dropped or the process ends.
#[derive(Debug)]
pub struct Supervised {
    name: String,
    watchdog: Child,
    /// Standard input of the watchdog, which ends when it is closed.
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    directory: PathBuf,
    pid: Option<u32>,
}

/// The user account of a server process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Account {
    uid: u32,
    gid: u32,
}

impl Account {
    /// Returns the user `nobody` if this process runs as `root`, for servers that refuse to run as `root`.
    ///
    /// # Panics
    ///
    /// If the user does not exist.
    #[must_use]
    pub fn unprivileged() -> Option<Self> {
        let is_root = std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
        is_root.then(|| {
            let users = std::fs::read_to_string("/etc/passwd").expect("/etc/passwd is readable");
            let nobody = users.lines().find_map(|line| line.strip_prefix("nobody:"));
            let mut fields = nobody.expect("there is a user `nobody`").split(':').skip(1);
            let mut id = || fields.next().and_then(|id| id.parse().ok()).expect("users have ids");
            Self { uid: id(), gid: id() }
        })
    }
}

impl Supervised {
    /// Starts the watchdog and creates the directory. Does not start a server.
    ///
    /// The directory, the server and the commands of [`Self::run`] belong to the account. Default: the
    /// account of this process. The name is part of the directory's name and of messages.
    ///
    /// # Panics
    ///
    /// If `setsid` does not exist, or a temporary directory cannot be created.
    #[must_use]
    pub fn new(name: &str, account: Option<Account>) -> Self {
        // A separate session, so that an interrupt at the terminal only reaches the test process. In the same
        // session the system would also hang up the process group if the test process dies while the
        // watchdog has stopped a process.
        let mut command = Command::new("setsid");
        command.args(["sh", "-c", WATCHDOG, "watchdog", name]).current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        if let Some(Account { uid, gid }) = account {
            command.uid(uid).gid(gid);
        }
        let mut watchdog = command.spawn().expect("`setsid` starts");
        let orders = watchdog.stdin.take();
        let answers = BufReader::new(watchdog.stdout.take().expect("standard output is piped"));
        let (name, directory) = (name.to_owned(), PathBuf::new());
        let mut new = Self { name, watchdog, orders, answers, directory, pid: None };
        new.directory = new.answer().into();
        new
    }

    /// Sets the signal that ends the server when the test process ends or drops the value, for example
    /// `TERM`. A server that still runs after 5 seconds is killed. Default: the server is killed immediately.
    ///
    /// # Panics
    ///
    /// If the watchdog has ended.
    pub fn ended_by(&mut self, signal: &str) {
        self.order(&format!("signal {signal}"));
    }

    /// Runs a command to its end, in the directory. Only the program, the arguments and the environment
    /// variables of the command are used.
    ///
    /// # Panics
    ///
    /// If the command fails. The message contains the end of its output.
    pub fn run(&mut self, command: &Command) {
        self.start(command);
        // Polls here, because a waiting watchdog would not notice the end of this process.
        poll(Duration::MAX, || !self.is_running());
        let status = self.order("wait");
        self.pid = None;
        assert_eq!(status, "0", "{command:?} fails:\n{}", self.log_tail());
    }

    /// Starts the server in the directory, and kills a running one first. Only the program, the arguments and
    /// the environment variables of the command are used.
    ///
    /// Returns immediately; see [`Self::until_ready`].
    ///
    /// # Panics
    ///
    /// If the watchdog has ended.
    pub fn start(&mut self, command: &Command) {
        let pid = self.order(&format!("start {}", command_line(command)));
        self.pid = pid.parse().ok();
    }

    /// Kills the server and its descendants with `SIGKILL`, and waits until they have released their files
    /// and ports. Does not change the directory.
    ///
    /// # Panics
    ///
    /// If the watchdog has ended.
    pub fn kill9(&mut self) {
        self.order("kill");
        self.pid = None;
    }

    /// Waits until the server is ready.
    ///
    /// # Panics
    ///
    /// If the server ends, or is not ready within the limit. The message contains the end of its output.
    pub fn until_ready(&self, limit: Duration, mut is_ready: impl FnMut() -> bool) {
        let is_over = poll(limit, || !self.is_running() || is_ready());
        let (name, log) = (&self.name, self.log_tail());
        assert!(self.is_running(), "{name} ended while it was starting:\n{log}");
        assert!(is_over, "{name} is not ready after {limit:?}:\n{log}");
    }

    /// Returns whether the server process is running.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.pid.is_some_and(is_running)
    }

    /// Returns the process id of the server; `None` if it was not started or was killed.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.pid
    }

    /// Returns the temporary directory. Its files `log` and `alive` belong to the watchdog.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the last 40 lines that the server has written to its standard output and error.
    #[must_use]
    pub fn log_tail(&self) -> String {
        let log = std::fs::read(self.directory.join("log")).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let lines: Vec<_> = log.lines().collect();
        lines.get(lines.len().saturating_sub(40)..).unwrap_or_default().join("\n")
    }

    fn order(&mut self, order: &str) -> String {
        let orders = self.orders.as_mut().expect("the value is not dropped");
        writeln!(orders, "{order}").expect("the watchdog accepts commands");
        self.answer()
    }

    fn answer(&mut self) -> String {
        let mut line = String::new();
        let length = self.answers.read_line(&mut line).expect("the watchdog answers");
        assert_ne!(length, 0, "the watchdog of {} has ended:\n{}", self.name, self.log_tail());
        line.trim_end().to_owned()
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        drop(self.orders.take());
        // When the watchdog has ended, the server has ended and the directory is removed.
        let _ = self.watchdog.wait();
    }
}

/// Evaluates a condition every 10 ms until it is true or the limit has passed. Returns whether it became
/// true.
pub fn poll(limit: Duration, mut is_reached: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    loop {
        if is_reached() {
            return true;
        }
        if start.elapsed() > limit {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Returns whether a process with this id is running.
#[must_use]
pub fn is_running(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let state = status.lines().find_map(|line| line.strip_prefix("State:"));
    state.is_some_and(|state| !state.trim_start().starts_with(['Z', 'X']))
}

/// Returns the command as one line of shell code.
fn command_line(command: &Command) -> String {
    let mut line = "env".to_owned();
    let mut word = |text: &str| {
        assert!(!text.contains('\n'), "a command must be one line");
        line.push_str(&format!(" '{}'", text.replace('\'', r"'\''")));
    };
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => word(&format!("{}={}", utf8(name), utf8(value))),
            None => word(&format!("--unset={}", utf8(name))),
        }
    }
    word(utf8(command.get_program()));
    command.get_args().for_each(|arg| word(utf8(arg)));
    line
}

fn utf8(text: &OsStr) -> &str {
    text.to_str().expect("commands are UTF-8")
}
