//! `PostgreSQL` servers with an empty database.

use super::process::{Account, Supervised};
use super::{free_port, installed};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

/// Time limit for the start or recovery of a server.
const LIMIT: Duration = Duration::from_secs(60);

/// A running server. It syncs commits to the disk, like a production server.
#[derive(Debug)]
pub struct Postgres {
    process: Supervised,
    programs: PathBuf,
    port: u16,
}

/// Returns the server of this test process, started by the first call; `None` if it is not installed.
///
/// # Panics
///
/// As [`start`].
#[must_use]
pub fn shared() -> Option<&'static Postgres> {
    static SERVER: OnceLock<Option<Postgres>> = OnceLock::new();
    SERVER.get_or_init(start).as_ref()
}

/// Returns the server of this test process, with pgvector in its database `postgres`; `None` if one of them
/// is not installed.
///
/// # Panics
///
/// As [`start`], also for pgvector.
#[must_use]
pub fn with_vectors() -> Option<&'static Postgres> {
    static HAS_VECTORS: OnceLock<Option<()>> = OnceLock::new();
    let server = shared()?;
    let has_vectors = HAS_VECTORS.get_or_init(|| {
        let available = "SELECT count(*) FROM pg_available_extensions WHERE name = 'vector'";
        let found = (server.psql("postgres", available) == "1").then_some(());
        let found =
            installed(found, "pgvector", "postgresql-15-pgvector` or run `scripts/pgvector");
        found.inspect(|()| drop(server.psql("postgres", "CREATE EXTENSION vector")))
    });
    has_vectors.map(|()| server)
}

/// Starts a server for one test; `None` if it is not installed.
///
/// # Panics
///
/// If it does not start, or if it is not installed and the environment variable `CI` is set.
#[must_use]
pub fn start() -> Option<Postgres> {
    let programs = installed(programs(), "PostgreSQL", "postgresql")?;
    let mut process = Supervised::new("postgres", Account::unprivileged());
    // A killed server leaves a shared memory segment behind, and the system has a limited number of them.
    process.ended_by("QUIT");
    let mut initdb = Command::new(programs.join("initdb"));
    initdb.args(["--pgdata=data", "--username=postgres", "--auth=trust"]);
    initdb.args(["--encoding=UTF8", "--no-locale", "--no-sync"]);
    process.run(&initdb);
    let mut server = Postgres { process, programs, port: free_port() };
    server.restart();
    Some(server)
}

impl Postgres {
    /// Returns the URL, `postgres://postgres@127.0.0.1:port/postgres`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    /// Returns the directory of `psql` and the other programs of this version.
    #[must_use]
    pub fn programs(&self) -> &Path {
        &self.programs
    }

    /// Runs a statement in a database of the server and returns its output.
    ///
    /// # Panics
    ///
    /// If the statement fails.
    #[must_use]
    pub fn psql(&self, database: &str, sql: &str) -> String {
        let url = self.url();
        let server = url.trim_end_matches("postgres");
        let mut psql = Command::new(self.programs.join("psql"));
        psql.args(["-XAtq", "-v", "ON_ERROR_STOP=1", "-c", sql, &format!("{server}{database}")]);
        let output = psql.output().unwrap_or_else(|error| panic!("psql: {error}"));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Kills all processes of the server with `SIGKILL`.
    pub fn kill9(&mut self) {
        self.process.kill9();
    }

    /// Starts the server again, with the same data, port and URL. Kills a running server first.
    ///
    /// # Panics
    ///
    /// If the server does not start.
    pub fn restart(&mut self) {
        let mut postgres = Command::new(self.programs.join("postgres"));
        postgres.args(["-D", "data", "-p", &self.port.to_string()]);
        postgres.args(["-c", "listen_addresses=127.0.0.1"]);
        let sockets = self.process.directory().display();
        postgres.args(["-c", &format!("unix_socket_directories={sockets}")]);
        // Uses files in the directory, which are removed with it.
        postgres.args(["-c", "dynamic_shared_memory_type=mmap"]);
        self.process.start(&postgres);
        self.process.until_ready(LIMIT, || accepts_connections(self.port).is_ok_and(|yes| yes));
    }
}

/// Returns whether the server accepts its user. While it starts or recovers, it answers with an error.
fn accepts_connections(port: u16) -> std::io::Result<bool> {
    const PROTOCOL_3_0: u32 = 196_608;
    const PARAMETERS: &[u8] = b"user\0postgres\0database\0postgres\0\0";
    let mut connection = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    connection.set_read_timeout(Some(Duration::from_secs(5)))?;
    let length = u32::try_from(8 + PARAMETERS.len()).unwrap_or_default();
    let head = [length.to_be_bytes(), PROTOCOL_3_0.to_be_bytes()].concat();
    connection.write_all(&[head.as_slice(), PARAMETERS].concat())?;
    let mut kind = [0];
    connection.read_exact(&mut kind)?;
    Ok(kind == *b"R")
}

/// Returns the directory of the newest `initdb` and `postgres`, which Debian does not add to the `PATH`.
fn programs() -> Option<PathBuf> {
    let is_complete =
        |programs: &PathBuf| ["initdb", "postgres"].iter().all(|it| programs.join(it).is_file());
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut versions: Vec<(u32, PathBuf)> = versions
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path())))
        .collect();
    versions.sort_unstable();
    let newest_first = versions.into_iter().rev().map(|(_, path)| path.join("bin"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    newest_first.chain(std::env::split_paths(&path)).find(is_complete)
}
