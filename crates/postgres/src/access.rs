//! How a database is reached, whatever is kept in it.

use super::connection::Limits;
use super::deadpool_postgres::Pool;
use super::pool;
use super::tokio_postgres::Config;
use ai_services_core::{Error, Result};
use std::fmt;
use std::time::Duration;

/// Where connections come from, and how long things may take.
pub(super) struct Access {
    pub(super) source: Source,
    pub(super) tls: Option<rustls::ClientConfig>,
    pub(super) pool_size: usize,
    pub(super) connect_timeout: Option<Duration>,
    pub(super) wait_timeout: Duration,
    pub(super) operation_timeout: Duration,
}

/// Where connections come from.
pub(super) enum Source {
    Missing,
    Invalid(Error),
    Config(Box<Config>),
    Pool(Pool),
}

/// A database that can be connected to.
pub(super) struct Server {
    pub(super) pool: Pool,
    pub(super) limits: Limits,
}

/// The setters that the builders of all stores have.
macro_rules! access_setters {
    () => {
        /// Sets the server, for example `postgres://user:password@host:5432/database?sslmode=require`,
        /// or `host=… user=…`, as libpq and [`Config`](crate::tokio_postgres::Config) read it. Several hosts
        /// are tried in turn; add `target_session_attrs=read-write` to find the primary server among them.
        ///
        /// `sslmode` is `disable`, `prefer` (the default) or `require`. Whenever TLS is spoken, the certificate
        /// must be one that the system trusts, for the name of the host: as `verify-full` of libpq.
        pub fn url(mut self, url: impl AsRef<str>) -> Self {
            self.access.source = $crate::access::Source::parse(url.as_ref());
            self
        }

        /// Sets the server, and more than a URL can say.
        pub fn config(mut self, config: $crate::tokio_postgres::Config) -> Self {
            let config = Box::new(config);
            self.access.source = $crate::access::Source::Config(config);
            self
        }

        /// Takes connections from a pool of the application, made with any TLS.
        ///
        /// [`tls`](Self::tls), [`pool_size`](Self::pool_size) and
        /// [`connect_timeout`](Self::connect_timeout) have no effect then, and sessions have the
        /// `statement_timeout` that the application gave them.
        pub fn pool(mut self, pool: $crate::deadpool_postgres::Pool) -> Self {
            self.access.source = $crate::access::Source::Pool(pool);
            self
        }

        /// Sets how TLS is done, for example with a certificate of your own. By default the certificates
        /// that the system trusts are trusted, and ring does the arithmetic unless the process has
        /// another default.
        pub fn tls(mut self, tls: $crate::rustls::ClientConfig) -> Self {
            self.access.tls = Some(tls);
            self
        }

        /// Sets how many connections there are at most, at least one; 16 by default.
        pub fn pool_size(mut self, size: usize) -> Self {
            self.access.pool_size = size;
            self
        }

        /// Sets how long connecting to one host may take; 5 s by default, or what the URL says.
        pub fn connect_timeout(mut self, timeout: std::time::Duration) -> Self {
            self.access.connect_timeout = Some(timeout);
            self
        }

        /// Sets how long an operation waits for a connection while all are in use; 30 s by default.
        pub fn wait_timeout(mut self, timeout: std::time::Duration) -> Self {
            self.access.wait_timeout = timeout;
            self
        }

        /// Sets how long one statement may take; 30 s by default.
        ///
        /// The server is told (`statement_timeout`), unless the URL or the [`pool`](Self::pool) says
        /// something else. If it does not answer at all, the connection is given up after a quarter more of
        /// the time, and the operation is tried again: it may take several times as long.
        pub fn operation_timeout(mut self, timeout: std::time::Duration) -> Self {
            self.access.operation_timeout = timeout;
            self
        }

        /// Sets the schema of the tables: at most 48 of `a` to `z`, `0` to `9` and `_`. By default it is the
        /// first one of the session's search path.
        pub fn schema(mut self, schema: impl Into<String>) -> Self {
            self.schema = Some(schema.into());
            self
        }
    };
}
pub(super) use access_setters;

impl Source {
    pub(super) fn parse(url: &str) -> Self {
        match pool::parse(url) {
            Ok(config) => Self::Config(Box::new(config)),
            Err(error) => Self::Invalid(error),
        }
    }
}

impl Default for Access {
    fn default() -> Self {
        Self {
            source: Source::Missing,
            tls: None,
            pool_size: 16,
            connect_timeout: None,
            wait_timeout: Duration::from_secs(30),
            operation_timeout: Duration::from_secs(30),
        }
    }
}

impl Access {
    /// Makes the pool. Nothing is sent.
    pub(super) fn server(self) -> Result<Server> {
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
        Ok(Server { pool, limits })
    }
}

fn checked(name: &str, timeout: Duration) -> Result<Duration> {
    if timeout.is_zero() {
        return Err(Error::configuration(format!("`{name}` must be longer than zero")));
    }
    Ok(timeout)
}

/// Without what may hold a password.
impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access")
            .field("pool_size", &self.pool_size)
            .field("connect_timeout", &self.connect_timeout)
            .field("wait_timeout", &self.wait_timeout)
            .field("operation_timeout", &self.operation_timeout)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pool, limits } = self;
        f.debug_struct("Server").field("pool", &pool.status()).field("limits", limits).finish()
    }
}
