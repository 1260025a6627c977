//! Redis servers without data.

use super::process::Supervised;
use super::{free_port, installed};
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

/// Time limit for the start of a server, including loading its data.
const LIMIT: Duration = Duration::from_secs(60);

/// A running server. Acknowledged writes survive if it is killed: every write is appended to a file and
/// synced.
#[derive(Debug)]
pub struct Redis {
    process: Supervised,
    program: PathBuf,
    port: u16,
    password: String,
}

/// Returns the server of this test process, started by the first call; `None` if it is not installed.
///
/// # Panics
///
/// As [`start`].
#[must_use]
pub fn shared() -> Option<&'static Redis> {
    static SERVER: OnceLock<Option<Redis>> = OnceLock::new();
    SERVER.get_or_init(start).as_ref()
}

/// Starts a server for one test; `None` if it is not installed.
///
/// # Panics
///
/// If it does not start, or if it is not installed and the environment variable `CI` is set.
#[must_use]
pub fn start() -> Option<Redis> {
    let program = installed(program(), "Redis", "redis-server")?;
    let process = Supervised::new("redis", None);
    // A random password, so that a client that reaches the server of another test is rejected.
    let password = format!("{:016x}", RandomState::new().hash_one(0));
    let mut server = Redis { process, program, port: free_port(), password };
    server.restart();
    Some(server)
}

impl Redis {
    /// Returns the URL, `redis://:password@127.0.0.1:port/`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://:{}@127.0.0.1:{}/", self.password, self.port)
    }

    /// Kills the server with `SIGKILL`.
    pub fn kill9(&mut self) {
        self.process.kill9();
    }

    /// Starts the server again, with the same data, port and URL. Kills a running server first.
    ///
    /// # Panics
    ///
    /// If the server does not start.
    pub fn restart(&mut self) {
        let mut redis = Command::new(&self.program);
        redis.args(["--bind", "127.0.0.1", "--port", &self.port.to_string()]);
        redis.args(["--requirepass", &self.password]);
        redis.arg("--dir").arg(self.process.directory());
        redis.args(["--appendonly", "yes", "--appendfsync", "always"]);
        self.process.start(&redis);
        self.process.until_ready(LIMIT, || self.has_loaded().is_ok_and(|yes| yes));
    }

    /// Returns whether the server is ready. While it loads its data, it answers with an error.
    fn has_loaded(&self) -> std::io::Result<bool> {
        let mut connection = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
        connection.set_read_timeout(Some(Duration::from_secs(5)))?;
        write!(connection, "AUTH {}\r\nPING\r\nQUIT\r\n", self.password)?;
        let mut answers = String::new();
        connection.read_to_string(&mut answers)?;
        Ok(answers.contains("+PONG"))
    }
}

fn program() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|it| it.join("redis-server")).find(|it| it.is_file())
}
