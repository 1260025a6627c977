//! Opening and configuring connections.

use super::error_mapping::{TaskFailure, is_busy, sqlite_error};
use super::schema;
use ai_services_core::store_kit::random;
use ai_services_core::{Error, ErrorKind, Result};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Capacity of the cache of prepared statements of a connection: more than the store has.
const STATEMENTS: usize = 48;

/// Size to which the write-ahead log shrinks after a checkpoint.
const JOURNAL_BYTES: u32 = 64 * 1024 * 1024;

/// The point at which a commit is acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Durability {
    /// After the commit is synced to the disk: it survives a crash of the process and a loss of power.
    #[default]
    Full,
    /// After the commit is handed to the operating system: it survives a crash of the process. A loss of
    /// power or a crash of the operating system may lose the last commits; the file stays consistent.
    Normal,
}

/// Settings of every connection of a store.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    pub(super) durability: Durability,
    pub(super) busy_timeout: Duration,
}

/// Opens the write connection and creates the file and tables if necessary. Returns the canonical path, too.
pub(super) fn open_writer(path: &Path, settings: &Settings) -> Result<(Connection, PathBuf)> {
    create(path)?;
    let path = path.canonicalize().map_err(|error| unusable(path, error))?;
    let fail = |failure| match failure {
        TaskFailure::Sqlite(error) => {
            sqlite_error(error, &format!("cannot open `{}`", path.display()))
        }
        other => other.into_error(super::error_mapping::Operation { verb: "open", id: None }),
    };
    let connection = prepare(&path, settings).map_err(fail)?;
    Ok((connection, path))
}

/// Opens a read-only connection.
pub(super) fn open_reader(path: &Path, settings: &Settings) -> Result<Connection, TaskFailure> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    configure(&connection, settings)?;
    // The file may have been replaced since the store was opened.
    schema::check(&connection, path)?;
    Ok(connection)
}

/// Opens a private in-memory database with the tables.
pub(super) fn open_in_memory(settings: &Settings) -> Result<Connection> {
    let open = || -> Result<Connection, TaskFailure> {
        let connection = Connection::open_in_memory()?;
        configure(&connection, settings)?;
        schema::migrate(&connection, Path::new(":memory:"))?;
        Ok(connection)
    };
    open().map_err(|failure| {
        failure.into_error(super::error_mapping::Operation { verb: "keep", id: None })
    })
}

/// Creates an empty file that only its owner can read, unless the file exists.
///
/// An existing file is not opened: closing it would release the locks that SQLite holds on it in this
/// process.
fn create(path: &Path) -> Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && !path.is_dir() => Ok(()),
        Err(error) => Err(unusable(path, error)),
    }
}

fn unusable(path: &Path, error: io::Error) -> Error {
    let name = path.display();
    let message = match error.kind() {
        io::ErrorKind::NotFound => {
            format!("cannot create `{name}`: its directory does not exist; create it first")
        }
        _ if path.is_dir() => {
            format!("cannot open `{name}`: it is a directory; set the path of a file")
        }
        _ => format!("cannot create `{name}`: {error}"),
    };
    Error::new(ErrorKind::Configuration, message).with_source(error)
}

fn prepare(path: &Path, settings: &Settings) -> Result<Connection, TaskFailure> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(settings.busy_timeout)?;
    // Until the owner of the file is known, not even its write-ahead log is touched.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    let began = Instant::now();
    retry(began, settings, || schema::check(&connection, path))?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
    if connection.is_readonly("main")? {
        let message = format!("cannot open `{}`: the file must be writable", path.display());
        return Err(Error::new(ErrorKind::Store, message).into());
    }
    // If several processes do this to a new file, SQLite returns "busy" to some without waiting.
    retry(began, settings, || set_journal(&connection))?;
    retry(began, settings, || Ok(configure(&connection, settings)?))?;
    retry(began, settings, || schema::migrate(&connection, path))?;
    Ok(connection)
}

fn set_journal(connection: &Connection) -> Result<(), TaskFailure> {
    let mode: String =
        connection.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))?;
    if mode != "wal" {
        let message = "the file system does not support SQLite's write-ahead log; use a local disk";
        return Err(Error::new(ErrorKind::Configuration, message).into());
    }
    Ok(())
}

fn configure(connection: &Connection, settings: &Settings) -> rusqlite::Result<()> {
    connection.busy_timeout(settings.busy_timeout)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    let (synchronous, full_fsync) = match settings.durability {
        Durability::Full => ("FULL", "ON"),
        Durability::Normal => ("NORMAL", "OFF"),
    };
    // `fullfsync` is for macOS, where `fsync` does not flush the disk's cache. Temporary files would be
    // readable by other users. Cell sizes are checked so that damage is not read as different data.
    connection.execute_batch(&format!(
        "PRAGMA synchronous = {synchronous}; PRAGMA fullfsync = {full_fsync};
         PRAGMA checkpoint_fullfsync = {full_fsync}; PRAGMA foreign_keys = ON;
         PRAGMA cell_size_check = ON; PRAGMA trusted_schema = OFF; PRAGMA temp_store = MEMORY;
         PRAGMA journal_size_limit = {JOURNAL_BYTES};"
    ))
}

/// Executes a statement without parameters. The connection keeps it prepared.
pub(super) fn execute(connection: &Connection, statement: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(statement)?.execute([]).map(drop)
}

/// Retries with back-off while other processes lock the file, until the busy timeout has passed.
fn retry<T>(
    began: Instant,
    settings: &Settings,
    mut attempt: impl FnMut() -> Result<T, TaskFailure>,
) -> Result<T, TaskFailure> {
    let mut pause = Duration::from_millis(1);
    loop {
        match attempt() {
            Err(TaskFailure::Sqlite(error))
                if is_busy(&error) && began.elapsed() < settings.busy_timeout =>
            {
                // Jitter: 50–100 % of the pause, so that two processes do not retry in step.
                sleep(pause.mul_f64(0.5 + (random() % 512) as f64 / 1024.0));
                pause = (pause * 2).min(Duration::from_millis(50));
            }
            outcome => return outcome,
        }
    }
}
