//! A database and its threads, shared by the stores of conversations and of embeddings.

use super::connection::{self, Durability, Settings};
use super::error_mapping::TaskFailure;
use super::file_identity::OpenFiles;
use super::readers::Readers;
use super::task::{self, WorkerMessage};
use super::writer;
use ai_services_core::{Error, ErrorKind, Result};
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// Location and settings of a database.
#[derive(Clone, Debug)]
pub(super) struct DatabaseOptions {
    pub(super) location: Option<Location>,
    pub(super) settings: Settings,
    pub(super) readers: usize,
}

/// Location of a database.
#[derive(Clone, Debug)]
pub(super) enum Location {
    File(PathBuf),
    Memory,
}

/// The setters that the builders of all SQLite stores have.
macro_rules! database_setters {
    () => {
        /// Sets the path of the file.
        ///
        /// The file is created if it does not exist, readable and writable by its owner only. Its directory
        /// must exist. SQLite creates two files beside it, `-wal` and `-shm`, which belong to it.
        pub fn path(mut self, path: impl Into<std::path::PathBuf>) -> Self {
            self.options.location = Some($crate::database::Location::File(path.into()));
            self
        }

        /// Keeps the data in the memory of the process, for tests. Only clones of the store share the
        /// database.
        pub fn in_memory(mut self) -> Self {
            self.options.location = Some($crate::database::Location::Memory);
            self
        }

        /// Sets the point at which a commit is acknowledged. Default:
        /// [`Durability::Full`](crate::Durability::Full).
        pub fn durability(mut self, durability: $crate::Durability) -> Self {
            self.options.settings.durability = durability;
            self
        }

        /// Sets the time limit for waiting until other processes release the file. Default: 5 seconds. At
        /// most 24 days.
        ///
        /// An operation that reaches the limit fails with
        /// [`ErrorKind::Timeout`](ai_services_core::ErrorKind::Timeout).
        pub fn busy_timeout(mut self, timeout: std::time::Duration) -> Self {
            self.options.settings.busy_timeout = timeout;
            self
        }

        /// Sets the maximum number of reader threads. Default: 4. At least 1.
        ///
        /// Reader threads are started as needed. There is always one writer thread in addition.
        pub fn readers(mut self, readers: usize) -> Self {
            self.options.readers = readers;
            self
        }
    };
}
pub(super) use database_setters;

impl Default for DatabaseOptions {
    fn default() -> Self {
        let busy_timeout = Duration::from_secs(5);
        let settings = Settings { durability: Durability::default(), busy_timeout };
        Self { location: None, settings, readers: 4 }
    }
}

impl DatabaseOptions {
    /// Opens the database and starts its threads.
    pub(super) async fn open(self) -> Result<Database> {
        if self.readers == 0 {
            return Err(Error::configuration("`readers` must be greater than zero, but is 0"));
        }
        if i32::try_from(self.settings.busy_timeout.as_millis()).is_err() {
            return Err(Error::configuration("`busy_timeout` must be at most 24 days"));
        }
        let location = match self.location {
            Some(Location::File(path)) if path.as_os_str().is_empty() || is_special(&path) => {
                let message = "this path has a special meaning in SQLite; \
                               set the path of a file, or call `in_memory`";
                return Err(Error::configuration(message));
            }
            Some(location) => location,
            None => {
                let message = "a SQLite store needs a location; call `path` or `in_memory`";
                return Err(Error::configuration(message));
            }
        };
        Database::start(location, self.settings, self.readers).await
    }
}

fn is_special(path: &Path) -> bool {
    path.as_os_str() == ":memory:"
}

/// An open database: one writer thread and a few reader threads.
pub(super) struct Database {
    writer: mpsc::Sender<WorkerMessage>,
    /// `None` for an in-memory database, which a second connection would not see.
    readers: Option<Readers>,
    path: Option<PathBuf>,
}

impl Database {
    async fn start(location: Location, settings: Settings, max_readers: usize) -> Result<Self> {
        let (writer, inbox) = mpsc::channel(writer::QUEUE);
        let (alive, readers) = mpsc::channel(1);
        let (caller, opened) = oneshot::channel();
        let work = move || {
            let opened = match location {
                Location::File(path) => connection::open_writer(&path, &settings)
                    .map(|(connection, path)| (connection, Some(path))),
                Location::Memory => {
                    connection::open_in_memory(&settings).map(|connection| (connection, None))
                }
            };
            match opened {
                Ok((connection, path)) => {
                    let files = path.as_deref().map(OpenFiles::of).unwrap_or_default();
                    let _ = caller.send(Ok((path, files.clone())));
                    writer::serve(connection, &files, inbox, readers);
                }
                Err(error) => drop(caller.send(Err(error))),
            }
        };
        let failed = "cannot start the SQLite writer thread";
        std::thread::Builder::new()
            .name("sqlite-writer".into())
            .spawn(work)
            .map_err(|error| Error::new(ErrorKind::Store, failed).with_source(error))?;
        let opened = opened.await.unwrap_or_else(|_| Err(Error::new(ErrorKind::Store, failed)));
        let (path, files) = opened?;
        let start = |path| Readers::start(path, files, settings, max_readers, alive);
        let readers = path.clone().map(start);
        Ok(Self { writer, readers: readers.transpose()?, path })
    }

    /// Returns the path of the file, or `:memory:`.
    pub(super) fn path(&self) -> &Path {
        self.path.as_deref().unwrap_or(Path::new(":memory:"))
    }

    /// Runs work in a transaction on the writer thread.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        work: impl FnMut(&Connection) -> Result<T, TaskFailure> + Send + 'static,
    ) -> Result<T, TaskFailure> {
        task::ask(&self.writer, work).await
    }

    /// Runs work in a transaction on a reader thread, or on the writer thread if the database is in memory.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        work: impl FnMut(&Connection) -> Result<T, TaskFailure> + Send + 'static,
    ) -> Result<T, TaskFailure> {
        let Some(readers) = &self.readers else { return self.write(work).await };
        readers.start_if_busy();
        task::ask(&readers.queue, work).await
    }

    /// Finishes the queued operations, ends the threads, and waits until the file is closed.
    pub(super) async fn close(&self) {
        if let Some(readers) = &self.readers {
            readers.close().await;
        }
        // Fails if the database is already closed.
        let _ = self.writer.send(WorkerMessage::Close).await;
        self.writer.closed().await;
    }
}
