//! A server process that ends with the test process, however that ends.
//!
//! The server is not a child of the test process but of a watchdog, a small `sh` program which
//! reads its orders from a pipe. The test process holds the other end: when it dies, even by
//! `SIGKILL` or with the server in a `static`, the pipe ends, and the watchdog ends the server and
//! removes its directory.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test without its server has nothing else to do"
)]

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// Keeps one server as long as its own standard input lasts, and answers every order with one
/// line. `$1` is the name of the server.
const WATCHDOG: &str = r#"
directory='' server='' signal=KILL

# The process and its descendants. Each is stopped first, so that it has no more children; a signal
# does not stop it before it is through with the call that it is in, which may be `fork`.
family() {
    kill -s STOP "$1"
    while grep -qs '^State:[[:space:]]*[RSDI]' /proc/"$1"/task/*/status; do :; done
    echo "$1"
    for child in $(grep -ls "^PPid:[[:space:]]*$1\$" /proc/[0-9]*/status); do
        child=${child%/status}
        family "${child##*/}"
    done
}

# Not so if it has ended and its id may be another's.
is_child() {
    [ -n "$server" ] && grep -qs "^PPid:[[:space:]]*$$\$" "/proc/$server/status"
}

# Process groups would not do: the processes of PostgreSQL have one each.
kill9() {
    [ -n "$server" ] || return 0
    if is_child; then kill -s KILL $(family "$server"); fi
    server_is_gone
}

# The pipe of `all` ends when the last process that has inherited it is gone.
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

# An answer that nobody reads any more is no reason to die. Traps, unlike ignored signals, are not
# inherited by the server.
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
        # Opened here: a child that opens one end waits for ever if the other dies before.
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

/// A server in a temporary directory of its own.
///
/// The server and its directory end with the value, or with the process.
#[derive(Debug)]
pub struct Supervised {
    name: String,
    watchdog: Child,
    /// Without it the watchdog ends.
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    directory: PathBuf,
    pid: Option<u32>,
}

/// The user whose process a server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Account {
    uid: u32,
    gid: u32,
}

impl Account {
    /// The user `nobody` if this process is one of `root`, for servers that refuse to run as such.
    ///
    /// # Panics
    ///
    /// If there is no such user.
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
    /// Starts the watchdog and creates the directory; there is no server yet.
    ///
    /// The directory, the server and all that [`Self::run`] runs belong to the account, by default
    /// the one of this process. The name appears in the directory's name and in messages.
    ///
    /// # Panics
    ///
    /// If there is no `setsid`, or no place for a temporary directory.
    #[must_use]
    pub fn new(name: &str, account: Option<Account>) -> Self {
        // A session of its own: an interrupt at the terminal is for the test process only. And the
        // system hangs up a process group of the same session when the test process dies and the
        // watchdog has already stopped something.
        let mut command = Command::new("setsid");
        command.args(["sh", "-c", WATCHDOG, "watchdog", name]).current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        if let Some(Account { uid, gid }) = account {
            command.uid(uid).gid(gid);
        }
        let mut watchdog = command.spawn().expect("`setsid` starts");
        let orders = watchdog.stdin.take();
        let answers = BufReader::new(watchdog.stdout.take().expect("it was piped"));
        let (name, directory) = (name.to_owned(), PathBuf::new());
        let mut new = Self { name, watchdog, orders, answers, directory, pid: None };
        new.directory = new.answer().into();
        new
    }

    /// Ends the server with this signal, for example `TERM`, when the test process ends or drops
    /// the value; only if it is still there after 5 seconds it is killed. Otherwise it is killed
    /// at once.
    ///
    /// # Panics
    ///
    /// If the watchdog is gone.
    pub fn ended_by(&mut self, signal: &str) {
        self.order(&format!("signal {signal}"));
    }

    /// Runs a command to its end. Of the command, the program, the arguments and the variables
    /// count; it runs in the directory.
    ///
    /// # Panics
    ///
    /// If it fails, with the end of its output.
    pub fn run(&mut self, command: &Command) {
        self.start(command);
        // The watchdog must not be the one who waits: it has to see when this process dies.
        poll(Duration::MAX, || !self.is_running());
        let status = self.order("wait");
        self.pid = None;
        assert_eq!(status, "0", "{command:?} fails:\n{}", self.log_tail());
    }

    /// Starts the server, in place of the one that may be running. Of the command, the program,
    /// the arguments and the variables count; it runs in the directory.
    ///
    /// Returns at once; see [`Self::until_ready`].
    ///
    /// # Panics
    ///
    /// If the watchdog is gone.
    pub fn start(&mut self, command: &Command) {
        let pid = self.order(&format!("start {}", command_line(command)));
        self.pid = pid.parse().ok();
    }

    /// Kills the server and its descendants with `SIGKILL`, and returns when they have let go of
    /// their files and ports. The directory stays as they leave it.
    ///
    /// # Panics
    ///
    /// If the watchdog is gone.
    pub fn kill9(&mut self) {
        self.order("kill");
        self.pid = None;
    }

    /// Waits until the server is ready.
    ///
    /// # Panics
    ///
    /// If it ends or if that takes longer than the limit, with the end of its output.
    pub fn until_ready(&self, limit: Duration, mut is_ready: impl FnMut() -> bool) {
        let is_over = poll(limit, || !self.is_running() || is_ready());
        let (name, log) = (&self.name, self.log_tail());
        assert!(self.is_running(), "{name} ended while it was starting:\n{log}");
        assert!(is_over, "{name} is not ready after {limit:?}:\n{log}");
    }

    /// Whether there is a server process.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.pid.is_some_and(is_running)
    }

    /// The process id of the server, unless it was killed.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.pid
    }

    /// The temporary directory. Its files `log` and `alive` are the watchdog's.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The last 40 lines that the server has written to its standard output and error.
    #[must_use]
    pub fn log_tail(&self) -> String {
        let log = std::fs::read(self.directory.join("log")).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let lines: Vec<_> = log.lines().collect();
        lines.get(lines.len().saturating_sub(40)..).unwrap_or_default().join("\n")
    }

    fn order(&mut self, order: &str) -> String {
        let orders = self.orders.as_mut().expect("only a dropped value has none");
        writeln!(orders, "{order}").expect("the watchdog takes orders");
        self.answer()
    }

    fn answer(&mut self) -> String {
        let mut line = String::new();
        let length = self.answers.read_line(&mut line).expect("the watchdog answers");
        assert_ne!(length, 0, "the watchdog of {} is gone:\n{}", self.name, self.log_tail());
        line.trim_end().to_owned()
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        drop(self.orders.take());
        // When it is gone, the server and the directory are, too.
        let _ = self.watchdog.wait();
    }
}

/// Asks every 10 ms until the answer is yes, or until the limit; says which.
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

/// Whether there is a process with this id that has not ended.
#[must_use]
pub fn is_running(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let state = status.lines().find_map(|line| line.strip_prefix("State:"));
    state.is_some_and(|state| !state.trim_start().starts_with(['Z', 'X']))
}

/// The command in the shell's language, in one line.
fn command_line(command: &Command) -> String {
    let mut line = "env".to_owned();
    let mut word = |text: &str| {
        assert!(!text.contains('\n'), "an order is one line");
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
