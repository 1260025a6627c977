//! Connection settings, shared by the stores of conversations and of embeddings.

use super::deadpool_postgres::Pool;
use super::pool::{self, Limits};
use super::tokio_postgres::Config;
use ai_services_core::{Error, Result};
use std::fmt;
use std::time::Duration;

/// Connection settings of a builder.
pub(super) struct ConnectionOptions {
    pub(super) source: Source,
    pub(super) tls: Option<rustls::ClientConfig>,
    pub(super) pool_size: usize,
    pub(super) connect_timeout: Option<Duration>,
    pub(super) wait_timeout: Duration,
    pub(super) operation_timeout: Duration,
}

/// Source of connections.
pub(super) enum Source {
    Missing,
    Invalid(Error),
    Config(Box<Config>),
    Pool(Pool),
}

/// Connection pool and time limits of a store.
pub(super) struct Server {
    pub(super) pool: Pool,
    pub(super) limits: Limits,
}

/// The setters that the builders of all PostgreSQL stores have.
macro_rules! connection_setters {
    () => {
        /// Sets the server by a URL, for example
        /// `postgres://user:password@host:5432/database?sslmode=require`, or by a connection string
        /// `host=… user=…`.
        ///
        /// The syntax is that of libpq and [`Config`](crate::tokio_postgres::Config). Several hosts are tried
        /// in turn; add `target_session_attrs=read-write` to select the primary server.
        ///
        /// `sslmode` is `disable`, `prefer` or `require`. Default: `prefer`. Whenever TLS is used, the
        /// certificate must be trusted by the system and valid for the host name, like `verify-full` of
        /// libpq.
        pub fn url(mut self, url: impl AsRef<str>) -> Self {
            self.connection.source = $crate::connection_options::Source::parse(url.as_ref());
            self
        }

        /// Sets the server by a driver configuration, which has more options than a URL.
        pub fn config(mut self, config: $crate::tokio_postgres::Config) -> Self {
            let config = Box::new(config);
            self.connection.source = $crate::connection_options::Source::Config(config);
            self
        }

        /// Uses a connection pool of the application, with any TLS implementation.
        ///
        /// [`tls`](Self::tls), [`pool_size`](Self::pool_size) and [`connect_timeout`](Self::connect_timeout)
        /// then have no effect, and the application sets the `statement_timeout` of the sessions.
        pub fn pool(mut self, pool: $crate::deadpool_postgres::Pool) -> Self {
            self.connection.source = $crate::connection_options::Source::Pool(pool);
            self
        }

        /// Sets the TLS configuration, for example with a custom root certificate.
        ///
        /// Default: the system's root certificates, and the crypto provider that the process has installed,
        /// or else ring.
        pub fn tls(mut self, tls: $crate::rustls::ClientConfig) -> Self {
            self.connection.tls = Some(tls);
            self
        }

        /// Sets the maximum number of connections. Default: 16. At least 1.
        pub fn pool_size(mut self, size: usize) -> Self {
            self.connection.pool_size = size;
            self
        }

        /// Sets the time limit for connecting to one host. Default: the limit in the URL, or 5 seconds.
        pub fn connect_timeout(mut self, timeout: std::time::Duration) -> Self {
            self.connection.connect_timeout = Some(timeout);
            self
        }

        /// Sets the time limit for waiting for a free connection. Default: 30 seconds.
        pub fn wait_timeout(mut self, timeout: std::time::Duration) -> Self {
            self.connection.wait_timeout = timeout;
            self
        }

        /// Sets the time limit of one statement. Default: 30 seconds.
        ///
        /// The limit is sent to the server as `statement_timeout`, unless the URL or the [`pool`](Self::pool)
        /// sets another value. If the server does not answer within 125 % of the limit, the connection is
        /// closed and the operation is retried, so an operation may take several times as long.
        pub fn operation_timeout(mut self, timeout: std::time::Duration) -> Self {
            self.connection.operation_timeout = timeout;
            self
        }

        /// Sets the schema of the tables. Default: the first schema of the session's search path.
        ///
        /// At most 48 characters from `a` to `z`, `0` to `9` and `_`, not beginning with a digit.
        pub fn schema(mut self, schema: impl Into<String>) -> Self {
            self.schema = Some(schema.into());
            self
        }
    };
}
pub(super) use connection_setters;

impl Source {
    pub(super) fn parse(url: &str) -> Self {
        match pool::parse(url) {
            Ok(config) => Self::Config(Box::new(config)),
            Err(error) => Self::Invalid(error),
        }
    }
}

impl Default for ConnectionOptions {
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

impl ConnectionOptions {
    /// Creates the pool. Does not connect.
    pub(super) fn server(self) -> Result<Server> {
        let mut limits = Limits {
            wait: check_timeout("wait_timeout", self.wait_timeout)?,
            connect: check_timeout(
                "connect_timeout",
                self.connect_timeout.unwrap_or(pool::CONNECT_TIMEOUT),
            )?,
            operation: check_timeout("operation_timeout", self.operation_timeout)?,
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

fn check_timeout(name: &str, timeout: Duration) -> Result<Duration> {
    if timeout.is_zero() {
        return Err(Error::configuration(format!("`{name}` must be longer than zero")));
    }
    Ok(timeout)
}

/// Omits all fields that may contain a password.
impl fmt::Debug for ConnectionOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectionOptions")
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
