//! The builder of [`SqliteChatMemoryStore`].

use super::database::{DatabaseOptions, database_setters};
use super::{Inner, SqliteChatMemoryStore};
use ai_services_core::Result;
use ai_services_core::memory::{EvictedMessages, LeaseOptions};
use ai_services_core::store_kit::cache::{ConversationCache, DEFAULT_CACHE_BYTES};
use std::sync::Arc;

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
    options: DatabaseOptions,
    evicted_messages: EvictedMessages,
    leases: Option<LeaseOptions>,
    cache_bytes: usize,
}

impl Default for SqliteChatMemoryStoreBuilder {
    fn default() -> Self {
        Self {
            options: DatabaseOptions::default(),
            evicted_messages: EvictedMessages::default(),
            leases: None,
            cache_bytes: DEFAULT_CACHE_BYTES,
        }
    }
}

impl SqliteChatMemoryStoreBuilder {
    database_setters!();

    /// Sets whether evicted messages are kept as history. Default: [`EvictedMessages::Delete`].
    pub fn evicted_messages(mut self, evicted_messages: EvictedMessages) -> Self {
        self.evicted_messages = evicted_messages;
        self
    }

    /// Switches on leases, so that processes take turns on a conversation. Default: off.
    ///
    /// Without leases, if two processes answer in the same conversation at the same time, the second commit
    /// fails with a conflict after the model was called.
    pub fn leases(mut self, options: LeaseOptions) -> Self {
        self.leases = Some(options);
        self
    }

    /// Sets the maximum size of the cache of loaded conversations, in bytes. Default: 64 MiB. 0 switches the
    /// cache off.
    ///
    /// A turn then reads only what is new since this process loaded the conversation last. All clones share
    /// the cache. The size is an estimate, which includes one encoding of each message.
    pub fn cache_bytes(mut self, bytes: usize) -> Self {
        self.cache_bytes = bytes;
        self
    }

    /// Opens the store, and creates or updates the tables.
    ///
    /// Several processes may open a new file at the same time.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration) if neither `path` nor
    /// `in_memory` was called, if the directory does not exist, for a file of another application or of a
    /// newer version of this crate, and for settings that are out of range. Returns
    /// [`ErrorKind::Timeout`](ai_services_core::ErrorKind::Timeout) if other processes keep the file locked,
    /// and [`ErrorKind::Store`](ai_services_core::ErrorKind::Store) if the file is damaged, cannot be
    /// written, or is not a database. A rejected file is not changed.
    pub async fn open(self) -> Result<SqliteChatMemoryStore> {
        let Self { options, evicted_messages, leases, cache_bytes } = self;
        let leases = leases.map(LeaseOptions::checked).transpose()?;
        let database = options.open().await?;
        let cache = ConversationCache::new(cache_bytes);
        Ok(SqliteChatMemoryStore(Arc::new(Inner { database, evicted_messages, leases, cache })))
    }
}
