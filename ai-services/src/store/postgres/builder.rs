//! Building a [`PostgresChatMemoryStore`].

use super::connection::Limits;
use super::deadpool_postgres::Pool;
use super::sql::{Sql, Tables};
use super::tokio_postgres::Config;
use super::{Inner, PostgresChatMemoryStore, pool};
use crate::error::{Error, Result};
use crate::memory::{EvictedMessages, LeaseOptions};
use crate::store::limits::check_name;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

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
#[must_use]
pub struct PostgresChatMemoryStoreBuilder {
    source: Source,
    tls: Option<rustls::ClientConfig>,
    pool_size: usize,
    connect_timeout: Option<Duration>,
    wait_timeout: Duration,
    operation_timeout: Duration,
    schema: Option<String>,
    table_prefix: String,
    evicted_messages: EvictedMessages,
    leases: Option<LeaseOptions>,
}

/// Where connections come from.
enum Source {
    Missing,
    Invalid(Error),
    Config(Box<Config>),
    Pool(Pool),
}

impl Default for PostgresChatMemoryStoreBuilder {
    fn default() -> Self {
        Self {
            source: Source::Missing,
            tls: None,
            pool_size: 16,
            connect_timeout: None,
            wait_timeout: Duration::from_secs(30),
            operation_timeout: Duration::from_secs(30),
            schema: None,
            table_prefix: "ai_services".to_owned(),
            evicted_messages: EvictedMessages::default(),
            leases: None,
        }
    }
}

impl PostgresChatMemoryStoreBuilder {
    /// Sets the server, for example `postgres://user:password@host:5432/database?sslmode=require`,
    /// or `host=… user=…`, as libpq and [`Config`] read it. Several hosts are tried in turn; add
    /// `target_session_attrs=read-write` to find the primary server among them.
    ///
    /// `sslmode` is `disable`, `prefer` (the default) or `require`. Whenever TLS is spoken, the certificate must be
    /// one that the system trusts, for the name of the host: as `verify-full` of libpq.
    pub fn url(mut self, url: impl AsRef<str>) -> Self {
        self.source = match pool::parse(url.as_ref()) {
            Ok(config) => Source::Config(Box::new(config)),
            Err(error) => Source::Invalid(error),
        };
        self
    }

    /// Sets the server, and more than a URL can say.
    pub fn config(mut self, config: Config) -> Self {
        self.source = Source::Config(Box::new(config));
        self
    }

    /// Takes connections from a pool of the application, made with any TLS.
    ///
    /// [`tls`](Self::tls), [`pool_size`](Self::pool_size) and
    /// [`connect_timeout`](Self::connect_timeout) have no effect then, and sessions have the
    /// `statement_timeout` that the application gave them.
    pub fn pool(mut self, pool: Pool) -> Self {
        self.source = Source::Pool(pool);
        self
    }

    /// Sets how TLS is done, for example with a certificate of your own. By default the certificates
    /// that the system trusts are trusted, and ring does the arithmetic unless the process has
    /// another default.
    pub fn tls(mut self, tls: rustls::ClientConfig) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Sets how many connections there are at most, at least one; 16 by default.
    pub fn pool_size(mut self, size: usize) -> Self {
        self.pool_size = size;
        self
    }

    /// Sets how long connecting to one host may take; 5 s by default, or what the URL says.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = Some(timeout);
        self
    }

    /// Sets how long an operation waits for a connection while all are in use; 30 s by default.
    pub fn wait_timeout(mut self, timeout: Duration) -> Self {
        self.wait_timeout = timeout;
        self
    }

    /// Sets how long one statement may take; 30 s by default.
    ///
    /// The server is told (`statement_timeout`), unless the URL or the [`pool`](Self::pool) says
    /// something else. If it does not answer at all, the connection is given up after a quarter more of
    /// the time, and the operation is tried again: it may take several times as long.
    pub fn operation_timeout(mut self, timeout: Duration) -> Self {
        self.operation_timeout = timeout;
        self
    }

    /// Sets the schema of the tables: at most 48 of `a` to `z`, `0` to `9` and `_`. By default it is the
    /// first one of the session's search path.
    pub fn schema(mut self, schema: impl Into<String>) -> Self {
        self.schema = Some(schema.into());
        self
    }

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
    /// [`ErrorKind::Configuration`](crate::ErrorKind::Configuration) without a server, for a URL that is
    /// not one, for names that tables cannot have, for a pool or time limits of zero, for leases of less
    /// than a second, and if TLS cannot be set up.
    pub fn build(self) -> Result<PostgresChatMemoryStore> {
        check_name("the beginning of the tables' names", &self.table_prefix)?;
        if let Some(schema) = &self.schema {
            check_name("a schema", schema)?;
        }
        let leases = self.leases.map(LeaseOptions::checked).transpose()?;
        let mut limits = Limits {
            wait: checked("wait_timeout", self.wait_timeout)?,
            connect: checked(
                "connect_timeout",
                self.connect_timeout.unwrap_or(pool::CONNECT_TIMEOUT),
            )?,
            operation: checked("operation_timeout", self.operation_timeout)?,
        };
        let pool = match self.source {
            Source::Pool(pool) => pool,
            Source::Config(mut config) => {
                if self.connect_timeout.is_none() {
                    limits.connect =
                        config.get_connect_timeout().copied().unwrap_or(limits.connect);
                }
                pool::adjust(&mut config, limits);
                pool::build(*config, self.tls, self.pool_size, limits)?
            }
            Source::Invalid(error) => return Err(error),
            Source::Missing => {
                return Err(Error::configuration("no PostgreSQL server: call `url`"));
            }
        };
        let tables = Tables { schema: self.schema, prefix: self.table_prefix };
        let keeps_evicted = self.evicted_messages == EvictedMessages::Keep;
        let sql = Sql::new(&tables, keeps_evicted);
        let evicted_messages = self.evicted_messages;
        let inner = Inner { pool, limits, leases, evicted_messages, tables, sql };
        Ok(PostgresChatMemoryStore(Arc::new(inner)))
    }
}

fn checked(name: &str, timeout: Duration) -> Result<Duration> {
    if timeout.is_zero() {
        return Err(Error::configuration(format!("`{name}` must be longer than zero")));
    }
    Ok(timeout)
}

impl fmt::Debug for PostgresChatMemoryStoreBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresChatMemoryStoreBuilder")
            .field("pool_size", &self.pool_size)
            .field("connect_timeout", &self.connect_timeout)
            .field("wait_timeout", &self.wait_timeout)
            .field("operation_timeout", &self.operation_timeout)
            .field("schema", &self.schema)
            .field("table_prefix", &self.table_prefix)
            .field("evicted_messages", &self.evicted_messages)
            .field("leases", &self.leases)
            .finish_non_exhaustive()
    }
}
