//! The builder of [`PostgresChatMemoryStore`].

use super::connection_options::{ConnectionOptions, connection_setters};
use super::sql::Sql;
use super::table_names::TableNames;
use super::{Inner, PostgresChatMemoryStore};
use ai_services_core::Result;
use ai_services_core::memory::{EvictedMessages, LeaseOptions};
use ai_services_core::store_kit::cache::{ConversationCache, DEFAULT_CACHE_BYTES};
use ai_services_core::store_kit::limits::check_name;
use std::sync::Arc;

/// Builds a [`PostgresChatMemoryStore`].
///
/// One of [`url`](Self::url), [`config`](Self::config) and [`pool`](Self::pool) is required; the last call
/// takes precedence.
///
/// # Examples
///
/// ```
/// use ai_services::store::postgres::PostgresChatMemoryStore;
///
/// let store = PostgresChatMemoryStore::builder()
///     .url("postgres://assistant:secret@localhost/assistant")
///     .pool_size(4)
///     .table_prefix("support")
///     .build()?;
/// assert!(!format!("{store:?}").contains("secret"));
/// # Ok::<(), ai_services::Error>(())
/// ```
#[derive(Debug)]
#[must_use]
pub struct PostgresChatMemoryStoreBuilder {
    connection: ConnectionOptions,
    schema: Option<String>,
    table_prefix: String,
    evicted_messages: EvictedMessages,
    leases: Option<LeaseOptions>,
    cache_bytes: usize,
}

impl Default for PostgresChatMemoryStoreBuilder {
    fn default() -> Self {
        Self {
            connection: ConnectionOptions::default(),
            schema: None,
            table_prefix: "ai_services".to_owned(),
            evicted_messages: EvictedMessages::default(),
            leases: None,
            cache_bytes: DEFAULT_CACHE_BYTES,
        }
    }
}

impl PostgresChatMemoryStoreBuilder {
    connection_setters!();

    /// Sets the prefix of the table names. Default: `ai_services`.
    ///
    /// At most 48 characters from `a` to `z`, `0` to `9` and `_`, not beginning with a digit.
    pub fn table_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.table_prefix = prefix.into();
        self
    }

    /// Sets whether evicted messages are kept as history. Default: [`EvictedMessages::Delete`].
    pub fn evicted_messages(mut self, evicted_messages: EvictedMessages) -> Self {
        self.evicted_messages = evicted_messages;
        self
    }

    /// Switches on leases, so that processes take turns on a conversation. Default: off; consistency relies
    /// on optimistic locking alone.
    ///
    /// Time is measured by the clock of the server.
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

    /// Builds the store. Does not connect.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration) if no server is set,
    /// for a malformed URL, for an invalid schema or table prefix, for a pool size or time limit of zero, for
    /// leases of less than a second, and if TLS cannot be set up.
    pub fn build(self) -> Result<PostgresChatMemoryStore> {
        check_name("a table prefix", &self.table_prefix)?;
        if let Some(schema) = &self.schema {
            check_name("a schema", schema)?;
        }
        let leases = self.leases.map(LeaseOptions::checked).transpose()?;
        let server = self.connection.server()?;
        let tables = TableNames { schema: self.schema, prefix: self.table_prefix };
        let keeps_evicted = self.evicted_messages == EvictedMessages::Keep;
        let sql = Sql::new(&tables, keeps_evicted);
        let evicted_messages = self.evicted_messages;
        let cache = ConversationCache::new(self.cache_bytes);
        let inner = Inner { server, leases, evicted_messages, tables, sql, cache };
        Ok(PostgresChatMemoryStore(Arc::new(inner)))
    }
}
