//! Shared parts of the harnesses: stores, child processes, random numbers.

use super::kind::Kind;
use super::place::Place;
use crate::servers::{cassandra, postgres, redis};
use anyhow::Context;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::Write;
use std::process::Stdio;
use tokio::process::{Child, Command};

/// A temporary store. It is removed when dropped.
#[derive(Debug)]
pub enum Stage {
    /// A file in a temporary directory.
    Sqlite(tempfile::TempDir),
    /// A temporary server.
    Postgres(postgres::Postgres),
    /// A temporary server.
    Redis(redis::Redis),
    /// A temporary node.
    Cassandra(cassandra::Cassandra),
}

impl Stage {
    /// Creates the store or starts its server.
    ///
    /// # Errors
    ///
    /// Fails if the server is not installed, or if there is no temporary directory.
    pub fn set(kind: Kind) -> anyhow::Result<Self> {
        Ok(match kind {
            Kind::Sqlite => Self::Sqlite(tempfile::tempdir()?),
            Kind::Postgres => {
                Self::Postgres(postgres::start().context("PostgreSQL is not installed")?)
            }
            Kind::Redis => Self::Redis(redis::start().context("Redis is not installed")?),
            Kind::Cassandra => {
                Self::Cassandra(cassandra::start().context("Cassandra is not installed")?)
            }
        })
    }

    /// Returns the location of the store.
    #[must_use]
    pub fn place(&self) -> Place {
        match self {
            Self::Sqlite(directory) => Place::Sqlite(directory.path().join("memory.sqlite")),
            Self::Postgres(server) => Place::Postgres(server.url()),
            Self::Redis(server) => Place::Redis(server.url()),
            Self::Cassandra(node) => Place::Cassandra(format!("cassandra://{}", node.address())),
        }
    }

    /// Returns the location of a store that does not exist yet.
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
    /// Fails if the store has no server.
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

/// Starts this program again with other arguments, and captures its output.
///
/// # Errors
///
/// Fails if the process cannot be started.
pub fn again(arguments: &[String], failpoint: Option<&str>) -> anyhow::Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true);
    match failpoint {
        Some(point) => command.env("AI_SERVICES_FAILPOINT", point),
        None => command.env_remove("AI_SERVICES_FAILPOINT"),
    };
    command.spawn().context("this program cannot be started again")
}

/// Creates a progress bar for a number of units.
///
/// # Errors
///
/// Fails if the unit contains braces.
pub fn progress(length: u64, unit: &str) -> anyhow::Result<ProgressBar> {
    let template = format!("{{bar:40}} {{pos}}/{{len}} {unit}, {{eta}} left");
    Ok(ProgressBar::new(length).with_style(ProgressStyle::with_template(&template)?))
}

/// Reports an acknowledged turn to the parent process as one line in one write.
///
/// # Errors
///
/// Fails if the output is closed.
pub fn acknowledge(id: &str, tag: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("{id} {tag}\n").as_bytes())?;
    out.flush()
}

/// Pseudo-random numbers that depend only on the seed (xorshift64*).
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// Creates a generator from any seed, including 0.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed ^ 0x9e37_79b9_7f4a_7c15)
    }

    /// Returns a number below `limit`, or 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) % limit.max(1)
    }
}
