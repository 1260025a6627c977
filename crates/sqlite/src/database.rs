//! A database and the threads that work on it, whatever is kept in it.

use super::connection::{self, Settings};
use super::fault::Fault;
use super::readers::Readers;
use super::task::{self, Message};
use super::{Durability, writer};
use ai_services_core::{Error, ErrorKind, Result};
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// Where a database is, and how it is used.
#[derive(Clone, Debug)]
pub(super) struct Opening {
    pub(super) place: Option<Place>,
    pub(super) settings: Settings,
    pub(super) readers: usize,
}

/// Where a database is.
#[derive(Clone, Debug)]
pub(super) enum Place {
    File(PathBuf),
    Memory,
}

/// The setters that the builders of all stores have.
macro_rules! opening_setters {
    () => {
        /// Sets the file. It is created if it does not exist, readable and writable by its owner only; its
        /// directory must exist. Two files beside it, `-wal` and `-shm`, belong to it.
        pub fn path(mut self, path: impl Into<std::path::PathBuf>) -> Self {
            self.opening.place = Some($crate::database::Place::File(path.into()));
            self
        }

        /// Keeps everything in the memory of the process, for tests. Only clones see the same database.
        pub fn in_memory(mut self) -> Self {
            self.opening.place = Some($crate::database::Place::Memory);
            self
        }

        /// Sets when a commit counts as made; when it is on the disk by default.
        pub fn durability(mut self, durability: $crate::Durability) -> Self {
            self.opening.settings.durability = durability;
            self
        }

        /// Sets how long to wait for other processes that hold the file; 5 s by default. Then an operation
        /// fails with [`ErrorKind::Timeout`](ai_services_core::ErrorKind::Timeout).
        pub fn busy_timeout(mut self, timeout: std::time::Duration) -> Self {
            self.opening.settings.busy_timeout = timeout;
            self
        }

        /// Sets how many threads read at the same time, at least one and at most four by default. They are
        /// started as needed. Beside them there is one that writes.
        pub fn readers(mut self, readers: usize) -> Self {
            self.opening.readers = readers;
            self
        }
    };
}
pub(super) use opening_setters;

impl Default for Opening {
    fn default() -> Self {
        let busy_timeout = Duration::from_secs(5);
        let settings = Settings { durability: Durability::default(), busy_timeout };
        Self { place: None, settings, readers: 4 }
    }
}

impl Opening {
    /// Opens the database and starts its threads.
    pub(super) async fn open(self) -> Result<Database> {
        if self.readers == 0 {
            return Err(Error::configuration("`readers` must be greater than zero, but is 0"));
        }
        if i32::try_from(self.settings.busy_timeout.as_millis()).is_err() {
            return Err(Error::configuration("`busy_timeout` must be at most 24 days"));
        }
        let place = match self.place {
            Some(Place::File(path)) if path.as_os_str().is_empty() || is_special(&path) => {
                let message =
                    "SQLite gives this path a meaning of its own; name a file, or use `in_memory`";
                return Err(Error::configuration(message));
            }
            Some(place) => place,
            None => {
                let message = "a SQLite store needs a place; call `path` or `in_memory`";
                return Err(Error::configuration(message));
            }
        };
        Database::start(place, self.settings, self.readers).await
    }
}

fn is_special(path: &Path) -> bool {
    path.as_os_str() == ":memory:"
}

/// One thread that writes and a few that read.
pub(super) struct Database {
    writer: mpsc::Sender<Message>,
    /// `None` in memory: a second connection would see another database.
    readers: Option<Readers>,
    path: Option<PathBuf>,
}

impl Database {
    async fn start(place: Place, settings: Settings, most_readers: usize) -> Result<Self> {
        let (writer, inbox) = mpsc::channel(writer::QUEUE);
        let (alive, readers) = mpsc::channel(1);
        let (caller, opened) = oneshot::channel();
        let work = move || {
            let opened = match place {
                Place::File(path) => connection::open_writer(&path, &settings)
                    .map(|(connection, path)| (connection, Some(path))),
                Place::Memory => {
                    connection::open_in_memory(&settings).map(|connection| (connection, None))
                }
            };
            match opened {
                Ok((connection, path)) => {
                    let _ = caller.send(Ok(path));
                    writer::serve(connection, inbox, readers);
                }
                Err(error) => drop(caller.send(Err(error))),
            }
        };
        let failed = "cannot start the thread that writes to SQLite";
        std::thread::Builder::new()
            .name("sqlite-writer".into())
            .spawn(work)
            .map_err(|error| Error::new(ErrorKind::Store, failed).with_source(error))?;
        let path = opened.await.unwrap_or_else(|_| Err(Error::new(ErrorKind::Store, failed)))?;
        let readers = path.clone().map(|path| Readers::start(path, settings, most_readers, alive));
        Ok(Self { writer, readers: readers.transpose()?, path })
    }

    /// The file, or a word for none.
    pub(super) fn path(&self) -> &Path {
        self.path.as_deref().unwrap_or(Path::new(":memory:"))
    }

    /// Has the thread that writes do something within a transaction.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        work: impl FnMut(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        task::ask(&self.writer, work).await
    }

    /// Has a thread that reads do something within a transaction.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        work: impl FnMut(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        let Some(readers) = &self.readers else { return self.write(work).await };
        readers.make_room();
        task::ask(&readers.queue, work).await
    }

    /// Finishes what was begun, ends the threads, and waits until the file is closed.
    pub(super) async fn close(&self) {
        if let Some(readers) = &self.readers {
            readers.close().await;
        }
        // Refused if it is closed already.
        let _ = self.writer.send(Message::Close).await;
        self.writer.closed().await;
    }
}
