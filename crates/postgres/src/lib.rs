//! Chat memories and embeddings in PostgreSQL.
//!
//! [`PostgresChatMemoryStore`] is for services that run on several machines and for conversations that must
//! not be lost, [`PostgresEmbeddingStore`] for embeddings. The crates of the driver are re-exported, so that
//! a program uses the same versions.

mod builder;
mod commit;
mod commit_sql;
mod connection;
mod connection_options;
mod conversations;
mod delete;
mod embedding;
mod error_mapping;
mod journal;
mod journal_sql;
mod lease;
mod pool;
mod read;
mod schema;
mod sql;
mod table_names;

pub use builder::PostgresChatMemoryStoreBuilder;
/// The connection pool, for [`pool`](PostgresChatMemoryStoreBuilder::pool).
pub use deadpool_postgres;
pub use embedding::{
    HnswOptions, PostgresEmbeddingStore, PostgresEmbeddingStoreBuilder, VectorIndex,
};
/// The TLS implementation, for [`tls`](PostgresChatMemoryStoreBuilder::tls).
pub use rustls;
/// The driver, for [`config`](PostgresChatMemoryStoreBuilder::config) and for
/// [details](ai_services_core::Error::detail) of errors.
pub use tokio_postgres;

use ai_services_core::Result;
use ai_services_core::memory::{EvictedMessages, LeaseOptions};
use ai_services_core::store_kit::cache::ConversationCache;
use connection_options::Server;
use deadpool_postgres::Pool;
use sql::Sql;
use std::fmt;
use std::sync::Arc;
use table_names::TableNames;

/// A store that keeps conversations in PostgreSQL, version 11 or newer.
///
/// Clones share one connection pool. A turn costs two round trips, whatever the length of the conversation:
/// one statement loads the conversation, one commits the turn. Connections are opened on demand, and broken
/// ones are replaced, so the server may restart while the program runs.
///
/// # Durability
///
/// A commit that has returned `Ok` is as durable as a transaction of PostgreSQL: the store does not change
/// `synchronous_commit`. With its default, `on`, the commit survives a crash of this process, of the server
/// and of its machine, and a failover to a *synchronous* standby; a failover to an asynchronous standby may
/// lose the last commits. With `off`, a crash of the server may lose the commits of the last fraction of a
/// second. Only the newest turns can be lost, and each of them completely.
///
/// A commit is applied once. If the connection breaks during the commit, or the answer does not arrive in
/// time, the store checks over a new connection whether the commit was applied, and repeats it if not: three
/// attempts within about a second, plus the time limits. If it cannot find out, because all attempts fail or
/// because more than 31 other commits have followed, the error is
/// [`ErrorKind::UnknownOutcome`](ai_services_core::ErrorKind::UnknownOutcome). A commit whose future is dropped
/// has an unknown outcome, too. [`commit_state`](ai_services_core::memory::ChatMemoryStore::commit_state) answers
/// later whether it was applied.
///
/// # Isolation
///
/// The store works with any `default_transaction_isolation`. Serialization failures and deadlocks are
/// retried.
///
/// # Poolers
///
/// Poolers such as `PgBouncer` work in session mode. In transaction mode the pooler must support prepared
/// statements (`PgBouncer` 1.21 or newer with `max_prepared_statements` above zero), and must pass on the
/// start-up parameter `options` or ignore it (`ignore_startup_parameters = options`). If it ignores the
/// parameter, set `statement_timeout` on the database. Statement mode does not work, because deletions and
/// replacements are transactions.
///
/// # Tables
///
/// [`ensure_schema`](Self::ensure_schema) creates `ai_services_conversations`, `…_messages`, `…_history`,
/// `…_journals`, `…_journal_rows`, `…_leases` and `…_layout` in the first schema of the search path. Messages
/// are stored as JSON in a column of type `text`. Ids and the records of journals are `bytea`, because they may
/// contain NUL, which `text` cannot. The encoding of the database must be UTF-8.
///
/// # Journals
///
/// The store keeps [journals](ai_services_core::memory::TurnJournals) of open turns. An append is one statement,
/// and one round trip. A commit that closes a journal deletes it in the statement of the commit. Conversations
/// without an open journal pay one lookup in the index of `…_journals` for each load.
///
/// # Examples
///
/// ```no_run
/// use ai_services::memory::{MemoryId, MessageWindowChatMemory};
/// use ai_services::store::postgres::PostgresChatMemoryStore;
///
/// # async fn example() -> ai_services::Result<()> {
/// let store = PostgresChatMemoryStore::builder()
///     .url("postgres://assistant:secret@db.example.com/assistant?sslmode=require")
///     .build()?;
/// store.ensure_schema().await?;
/// let memory_of = move |id: &MemoryId| {
///     MessageWindowChatMemory::builder().id(id).max_messages(20).store(store.clone()).build()
/// };
/// # let _ = memory_of(&"klaus".into())?;
/// # Ok(())
/// # }
/// ```
///
/// # Differences from LangChain4j
///
/// LangChain4j stores one JSON text per conversation and rewrites it with every message; the last of two
/// writers wins. Here a turn writes only its own rows, and the second writer gets
/// [`ErrorKind::Conflict`](ai_services_core::ErrorKind::Conflict).
#[derive(Clone)]
pub struct PostgresChatMemoryStore(Arc<Inner>);

struct Inner {
    server: Server,
    leases: Option<LeaseOptions>,
    evicted_messages: EvictedMessages,
    tables: TableNames,
    sql: Sql,
    cache: ConversationCache,
}

impl PostgresChatMemoryStore {
    /// Returns a builder with the default settings.
    pub fn builder() -> PostgresChatMemoryStoreBuilder {
        PostgresChatMemoryStoreBuilder::default()
    }

    /// Creates a store with the default settings that uses a connection pool of the application. For other
    /// settings use [`pool`](PostgresChatMemoryStoreBuilder::pool).
    ///
    /// # Errors
    ///
    /// Currently does not fail.
    pub fn from_pool(pool: Pool) -> Result<Self> {
        Self::builder().pool(pool).build()
    }

    /// Creates the tables, or migrates older ones, in one transaction. If they are up to date, it does not
    /// write, and does not need the privilege to create tables.
    ///
    /// Several processes may call it at the same time. It holds the advisory lock 7019246443461506665 while
    /// it runs.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration) if the tables were
    /// created by a newer version of this crate, or if the encoding of the database is not UTF-8. Returns
    /// [`ErrorKind::Authentication`](ai_services_core::ErrorKind::Authentication) if the user may not create
    /// tables. Also fails if the server cannot be reached.
    pub async fn ensure_schema(&self) -> Result<()> {
        error_mapping::retry(|_| self.ensure_schema_once()).await
    }
}

impl fmt::Debug for PostgresChatMemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { server, leases, evicted_messages, tables, sql: _, cache } = &*self.0;
        f.debug_struct("PostgresChatMemoryStore")
            .field("pool", &server.pool.status())
            .field("limits", &server.limits)
            .field("leases", leases)
            .field("evicted_messages", evicted_messages)
            .field("tables", tables)
            .field("cache", cache)
            .finish_non_exhaustive()
    }
}
