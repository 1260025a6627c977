//! Building a [`SqliteChatMemoryStore`].

use super::SqliteChatMemoryStore;
use super::connection::Settings;
use crate::error::{Error, Result};
use crate::memory::{EvictedMessages, LeaseOptions};
use std::path::PathBuf;
use std::time::Duration;

/// When a commit counts as made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Durability {
    /// When it is on the disk: it survives the end of the process and a loss of power.
    #[default]
    Full,
    /// When the operating system has it: it survives the end of the process. A loss of power or a crash
    /// of the system may take the last commits; the file stays sound.
    Normal,
}

/// Builds a [`SqliteChatMemoryStore`].
///
/// Either [`path`](Self::path) or [`in_memory`](Self::in_memory) is required.
///
/// # Examples
///
/// ```
/// use ai_services::memory::{EvictedMessages, LeaseOptions};
/// use ai_services::store::sqlite::SqliteChatMemoryStore;
/// use std::time::Duration;
///
/// # async fn example() -> ai_services::Result<()> {
/// let store = SqliteChatMemoryStore::builder()
///     .in_memory()
///     .busy_timeout(Duration::from_secs(10))
///     .evicted_messages(EvictedMessages::Keep)
///     .leases(LeaseOptions::new())
///     .open()
///     .await?;
/// # Ok(())
/// # }
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(example()).unwrap();
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct SqliteChatMemoryStoreBuilder {
    place: Option<Place>,
    settings: Settings,
    pub(super) readers: usize,
    pub(super) evicted_messages: EvictedMessages,
    pub(super) leases: Option<LeaseOptions>,
}

/// Where a database is.
#[derive(Clone, Debug)]
pub(super) enum Place {
    File(PathBuf),
    Memory,
}

impl Default for SqliteChatMemoryStoreBuilder {
    fn default() -> Self {
        let busy_timeout = Duration::from_secs(5);
        Self {
            place: None,
            settings: Settings { durability: Durability::default(), busy_timeout },
            readers: 4,
            evicted_messages: EvictedMessages::default(),
            leases: None,
        }
    }
}

impl SqliteChatMemoryStoreBuilder {
    /// Sets the file. It is created if it does not exist, readable and writable by its owner only; its
    /// directory must exist. Two files beside it, `-wal` and `-shm`, belong to it.
    pub fn path(mut self, path: impl Into<PathBuf>) -> Self {
        self.place = Some(Place::File(path.into()));
        self
    }

    /// Keeps everything in the memory of the process, for tests. Only clones see the same database.
    pub fn in_memory(mut self) -> Self {
        self.place = Some(Place::Memory);
        self
    }

    /// Sets when a commit counts as made; when it is on the disk by default.
    pub fn durability(mut self, durability: Durability) -> Self {
        self.settings.durability = durability;
        self
    }

    /// Sets how long to wait for other processes that hold the file; 5 s by default. Then an operation
    /// fails with [`ErrorKind::Timeout`](crate::ErrorKind::Timeout).
    pub fn busy_timeout(mut self, timeout: Duration) -> Self {
        self.settings.busy_timeout = timeout;
        self
    }

    /// Sets how many threads read at the same time, at least one and at most four by default. They are
    /// started as needed. Beside them there is one that writes.
    pub fn readers(mut self, readers: usize) -> Self {
        self.readers = readers;
        self
    }

    /// Sets what becomes of the messages that a window evicts: deleted by default.
    pub fn evicted_messages(mut self, evicted_messages: EvictedMessages) -> Self {
        self.evicted_messages = evicted_messages;
        self
    }

    /// Makes processes take turns on a conversation; they do not by default. Without leases, the
    /// second of two that answer at the same time learns at its end that its turn was in vain.
    pub fn leases(mut self, options: LeaseOptions) -> Self {
        self.leases = Some(options);
        self
    }

    /// Opens the store; creates and updates the tables.
    ///
    /// Several processes may open a new file at the same time.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`](crate::ErrorKind::Configuration) without a place, if the directory
    /// does not exist, for a file of another application or of a newer version of this crate, and for
    /// settings that are out of range; [`ErrorKind::Timeout`](crate::ErrorKind::Timeout) if other
    /// processes hold the file; [`ErrorKind::Memory`](crate::ErrorKind::Memory) if the file is damaged,
    /// cannot be written, or is no database. A file that is refused is not changed.
    pub async fn open(self) -> Result<SqliteChatMemoryStore> {
        self.leases.map(LeaseOptions::checked).transpose()?;
        if self.readers == 0 {
            return Err(Error::configuration("`readers` must be greater than zero, but is 0"));
        }
        if i32::try_from(self.settings.busy_timeout.as_millis()).is_err() {
            return Err(Error::configuration("`busy_timeout` must be at most 24 days"));
        }
        let place = match self.place.clone() {
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
        let settings = self.settings;
        SqliteChatMemoryStore::start(place, settings, &self).await
    }
}

fn is_special(path: &std::path::Path) -> bool {
    path.as_os_str() == ":memory:"
}
