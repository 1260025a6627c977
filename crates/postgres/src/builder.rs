//! Building a [`PostgresChatMemoryStore`].

use super::access::{Access, access_setters};
use super::sql::{Sql, Tables};
use super::{Inner, PostgresChatMemoryStore};
use ai_services_core::Result;
use ai_services_core::memory::{EvictedMessages, LeaseOptions};
use ai_services_core::store_kit::limits::check_name;
use std::sync::Arc;

/// Builds a [`PostgresChatMemoryStore`].
///
/// One of [`url`](Self::url), [`config`](Self::config) and [`pool`](Self::pool) is required; the last
/// one that is called counts.
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
    access: Access,
    schema: Option<String>,
    table_prefix: String,
    evicted_messages: EvictedMessages,
    leases: Option<LeaseOptions>,
}

impl Default for PostgresChatMemoryStoreBuilder {
    fn default() -> Self {
        Self {
            access: Access::default(),
            schema: None,
            table_prefix: "ai_services".to_owned(),
            evicted_messages: EvictedMessages::default(),
            leases: None,
        }
    }
}

impl PostgresChatMemoryStoreBuilder {
    access_setters!();

    /// Sets what the names of the tables begin with: at most 48 of `a` to `z`, `0` to `9` and
    /// `_`; `ai_services` by default.
    pub fn table_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.table_prefix = prefix.into();
        self
    }

    /// Sets what becomes of the messages that a window evicts: deleted by default.
    pub fn evicted_messages(mut self, evicted_messages: EvictedMessages) -> Self {
        self.evicted_messages = evicted_messages;
        self
    }

    /// Has processes take turns by leases. Off by default: versions alone keep conversations in order.
    /// Time is measured by the clock of the server.
    pub fn leases(mut self, options: LeaseOptions) -> Self {
        self.leases = Some(options);
        self
    }

    /// Builds the store. Nothing is sent.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration) without a server, for a URL that is
    /// not one, for names that tables cannot have, for a pool or time limits of zero, for leases of less
    /// than a second, and if TLS cannot be set up.
    pub fn build(self) -> Result<PostgresChatMemoryStore> {
        check_name("the beginning of the tables' names", &self.table_prefix)?;
        if let Some(schema) = &self.schema {
            check_name("a schema", schema)?;
        }
        let leases = self.leases.map(LeaseOptions::checked).transpose()?;
        let server = self.access.server()?;
        let tables = Tables { schema: self.schema, prefix: self.table_prefix };
        let keeps_evicted = self.evicted_messages == EvictedMessages::Keep;
        let sql = Sql::new(&tables, keeps_evicted);
        let evicted_messages = self.evicted_messages;
        let inner = Inner { server, leases, evicted_messages, tables, sql };
        Ok(PostgresChatMemoryStore(Arc::new(inner)))
    }
}
