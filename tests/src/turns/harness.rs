//! What the harnesses share: a store of their own, processes that play, numbers by chance.

use super::kind::Kind;
use super::place::Place;
use crate::servers::{cassandra, postgres, redis};
use anyhow::Context;
use std::io::Write;
use std::process::Stdio;
use tokio::process::{Child, Command};

/// A store of one's own, gone when dropped.
#[derive(Debug)]
pub enum Stage {
    /// A file in a temporary directory.
    Sqlite(tempfile::TempDir),
    /// A server of its own.
    Postgres(postgres::Postgres),
    /// A server of its own.
    Redis(redis::Redis),
    /// A node of its own.
    Cassandra(cassandra::Cassandra),
}

impl Stage {
    /// Starts what the store needs.
    ///
    /// # Errors
    ///
    /// If the server is not installed, or there is no temporary directory.
    pub fn set(kind: Kind) -> anyhow::Result<Self> {
        Ok(match kind {
            Kind::Sqlite => Self::Sqlite(tempfile::tempdir()?),
            Kind::Postgres => Self::Postgres(postgres::start().context("there is no PostgreSQL")?),
            Kind::Redis => Self::Redis(redis::start().context("there is no Redis")?),
            Kind::Cassandra => {
                Self::Cassandra(cassandra::start().context("there is no Cassandra")?)
            }
        })
    }

    /// Where the store is.
    #[must_use]
    pub fn place(&self) -> Place {
        match self {
            Self::Sqlite(directory) => Place::Sqlite(directory.path().join("memory.sqlite")),
            Self::Postgres(server) => Place::Postgres(server.url()),
            Self::Redis(server) => Place::Redis(server.url()),
            Self::Cassandra(node) => Place::Cassandra(format!("cassandra://{}", node.address())),
        }
    }

    /// Where there is no store yet.
    #[must_use]
    pub fn fresh_place(&self, number: u64) -> Place {
        match self.place() {
            Place::Sqlite(path) => Place::Sqlite(path.with_file_name(format!("{number}.sqlite"))),
            Place::Postgres(url) => Place::Postgres(format!("{url}#fresh_{number}")),
            Place::Redis(url) => Place::Redis(format!("{url}#fresh_{number}")),
            Place::Cassandra(url) => Place::Cassandra(format!("{url}#fresh_{number}")),
        }
    }

    /// Kills the server with SIGKILL and starts it again on the same data.
    ///
    /// # Errors
    ///
    /// If there is no server.
    pub fn crash_server(&mut self) -> anyhow::Result<()> {
        match self {
            Self::Sqlite(_) => anyhow::bail!("SQLite has no server"),
            Self::Postgres(server) => {
                server.kill9();
                server.restart();
            }
            Self::Redis(server) => {
                server.kill9();
                server.restart();
            }
            Self::Cassandra(node) => {
                node.kill9();
                node.restart();
            }
        }
        Ok(())
    }
}

/// Starts this program again, with other arguments, and reads what it prints.
///
/// # Errors
///
/// If it cannot be started.
pub fn again(arguments: &[String], failpoint: Option<&str>) -> anyhow::Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true);
    match failpoint {
        Some(point) => command.env("AI_SERVICES_FAILPOINT", point),
        None => command.env_remove("AI_SERVICES_FAILPOINT"),
    };
    command.spawn().context("this program cannot be started again")
}

/// Tells whoever started this process that a turn was acknowledged: one line, in one piece.
///
/// # Errors
///
/// If nobody listens any more.
pub fn acknowledge(id: &str, tag: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("{id} {tag}\n").as_bytes())?;
    out.flush()
}

/// Numbers that look like chance and are the same for the same seed (xorshift64*).
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// Dice for a seed; 0 is as good as any.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed ^ 0x9e37_79b9_7f4a_7c15)
    }

    /// A number below `limit`, or 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) % limit.max(1)
    }
}
