//! Chat memories and embeddings in PostgreSQL.
//!
//! [`PostgresChatMemoryStore`] is for services that run on several machines and for conversations that must not be
//! lost, [`PostgresEmbeddingStore`] for embeddings beside them. The crates of the driver are re-exported, so that a program names the same versions.

mod access;
mod builder;
mod commit;
mod connection;
mod conversations;
mod delete;
mod embedding;
mod fault;
mod lease;
mod pool;
mod read;
mod schema;
mod sql;

pub use builder::PostgresChatMemoryStoreBuilder;
/// The pool of connections, for [`pool`](PostgresChatMemoryStoreBuilder::pool).
pub use deadpool_postgres;
pub use embedding::{
    HnswOptions, PostgresEmbeddingStore, PostgresEmbeddingStoreBuilder, VectorIndex,
};
/// The implementation of TLS, for [`tls`](PostgresChatMemoryStoreBuilder::tls).
pub use rustls;
/// The driver, for [`config`](PostgresChatMemoryStoreBuilder::config) and for
/// [details](ai_services_core::Error::detail) of errors.
pub use tokio_postgres;

use access::Server;
use ai_services_core::Result;
use ai_services_core::memory::{EvictedMessages, LeaseOptions};
use deadpool_postgres::Pool;
use sql::{Sql, Tables};
use std::fmt;
use std::sync::Arc;

/// A store that keeps messages in PostgreSQL, version 11 or newer.
///
/// Clones share one pool of connections. A turn costs two round trips: one statement loads the
/// conversation, one commits the turn, whatever the length of the conversation. Connections are made when they
/// are needed; those that broke are replaced, so a server may restart while the program runs.
///
/// # Durability
///
/// A commit that has returned `Ok` is as durable as PostgreSQL makes a transaction: the store does not
/// change `synchronous_commit`. With its default, `on`, such a commit survives a crash of this process,
/// of the server and of its machine, and a failover to a *synchronous* standby; a failover to an
/// asynchronous one may lose the last commits. With `off` a crash of the server may lose those of the last
/// fraction of a second. What is lost is always the newest, and turns are lost as a whole.
///
/// A commit is made once. If the connection breaks in it, or no answer comes in time, the store asks
/// over a new connection whether it was made, and makes it if not: three attempts within about
/// a second and the time limits. If all of them fail, the commit may or may not have been made; load the
/// conversation to learn which.
///
/// # Isolation
///
/// The store works at any `default_transaction_isolation`. Serialization failures and deadlocks are
/// tried again.
///
/// # Poolers
///
/// `PgBouncer` and the like work in session mode. In transaction mode the store needs a pooler that supports
/// prepared statements (`PgBouncer` 1.21 or newer with `max_prepared_statements` above zero) and that lets
/// the start-up parameter `options` pass or ignores it (`ignore_startup_parameters = options`); if it is
/// ignored, set `statement_timeout` on the database. In statement mode it does not work, because
/// deletions and replacements are transactions.
///
/// # Tables
///
/// [`ensure_schema`](Self::ensure_schema) creates `ai_services_conversations`, `…_messages`,
/// `…_history`, `…_leases` and `…_layout` in the first schema of the search path. Messages are JSON
/// in a column of type `text`; ids are kept as `bytea`, because they may hold what a text cannot. The
/// database must have the encoding UTF-8.
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
/// LangChain4j keeps one JSON text a conversation and rewrites it with every message; the last of
/// two writers wins. Here a turn writes its own rows, and the second writer gets
/// [`ErrorKind::Conflict`](ai_services_core::ErrorKind::Conflict).
#[derive(Clone)]
pub struct PostgresChatMemoryStore(Arc<Inner>);

struct Inner {
    server: Server,
    leases: Option<LeaseOptions>,
    evicted_messages: EvictedMessages,
    tables: Tables,
    sql: Sql,
}

impl PostgresChatMemoryStore {
    /// Starts a store.
    pub fn builder() -> PostgresChatMemoryStoreBuilder {
        PostgresChatMemoryStoreBuilder::default()
    }

    /// A store with the defaults on a pool of the application. For other settings use
    /// [`pool`](PostgresChatMemoryStoreBuilder::pool).
    ///
    /// # Errors
    ///
    /// None at present.
    pub fn from_pool(pool: Pool) -> Result<Self> {
        Self::builder().pool(pool).build()
    }

    /// Creates the tables, or brings older ones up to date, in one transaction. If they are up to
    /// date, nothing is written and no right to create tables is needed.
    ///
    /// Several processes may call it at once. Meanwhile it holds the advisory lock
    /// 7019246443461506665.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration) if the tables were made by a newer
    /// version of this crate, or the database does not have the encoding UTF-8;
    /// [`ErrorKind::Authentication`](ai_services_core::ErrorKind::Authentication) if the user may not create
    /// tables; else if the server cannot be reached.
    pub async fn ensure_schema(&self) -> Result<()> {
        fault::retried(|_| self.ensure_schema_once()).await
    }
}

impl fmt::Debug for PostgresChatMemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { server, leases, evicted_messages, tables, sql: _ } = &*self.0;
        f.debug_struct("PostgresChatMemoryStore")
            .field("pool", &server.pool.status())
            .field("limits", &server.limits)
            .field("leases", leases)
            .field("evicted_messages", evicted_messages)
            .field("tables", tables)
            .finish_non_exhaustive()
    }
}
