//! Building a [`SqliteChatMemoryStore`].

use super::database::{Opening, opening_setters};
use super::{Shared, SqliteChatMemoryStore};
use ai_services_core::Result;
use ai_services_core::memory::{EvictedMessages, LeaseOptions};
use std::sync::Arc;

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
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct SqliteChatMemoryStoreBuilder {
    opening: Opening,
    evicted_messages: EvictedMessages,
    leases: Option<LeaseOptions>,
}

impl SqliteChatMemoryStoreBuilder {
    opening_setters!();

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
    /// [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration) without a place, if the directory
    /// does not exist, for a file of another application or of a newer version of this crate, and for
    /// settings that are out of range; [`ErrorKind::Timeout`](ai_services_core::ErrorKind::Timeout) if other
    /// processes hold the file; [`ErrorKind::Store`](ai_services_core::ErrorKind::Store) if the file is damaged,
    /// cannot be written, or is no database. A file that is refused is not changed.
    pub async fn open(self) -> Result<SqliteChatMemoryStore> {
        let Self { opening, evicted_messages, leases } = self;
        let leases = leases.map(LeaseOptions::checked).transpose()?;
        let database = opening.open().await?;
        Ok(SqliteChatMemoryStore(Arc::new(Shared { database, evicted_messages, leases })))
    }
}
