//! Connection settings, and creation of the pool.

use super::deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod, Runtime};
use super::tokio_postgres::config::SslMode;
use super::tokio_postgres::{Config, NoTls};
use ai_services_core::tls;
use ai_services_core::{Error, Result};
use rustls::ClientConfig;
use std::error::Error as StdError;
use std::time::Duration;
use tokio_postgres_rustls::MakeRustlsConnect;

/// Default time limit for connecting to one host.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// TCP keep-alive: idle time, interval and retries. A dead peer on an idle connection is detected after 90
/// seconds instead of the usual two hours.
const KEEPALIVE: (Duration, Duration, u32) = (Duration::from_secs(60), Duration::from_secs(10), 3);

/// Time limits of the parts of an operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Limit for waiting for a free connection of the pool.
    pub(super) wait: Duration,
    /// Limit for opening a connection.
    pub(super) connect: Duration,
    /// Limit for one statement, at the server.
    pub(super) operation: Duration,
}

/// Parses a URL. Discards the driver's error: it may repeat a part of the URL, which may contain the password
/// if that has an unescaped `@` or `/`.
pub(super) fn parse(url: &str) -> Result<Config> {
    url.parse::<Config>().map_err(|error| {
        let reason = error.source().map(ToString::to_string).unwrap_or_default();
        let known = reason.strip_prefix("invalid value for option ");
        let detail = known.map(|option| format!(": invalid value of {option}")).unwrap_or_default();
        Error::configuration(format!(
            "the URL of the PostgreSQL server is malformed{detail}; the format is \
             `postgres://user:password@host:5432/database?sslmode=require`, with `%40` for `@` in a \
             password; `sslmode` is `disable`, `prefer` or `require`"
        ))
    })
}

/// Adds defaults for the settings that the URL does not contain.
pub(super) fn adjust(config: &mut Config, limits: Limits) {
    let (idle, interval, retries) = KEEPALIVE;
    config.connect_timeout(limits.connect);
    config.keepalives_idle(idle);
    if config.get_keepalives_interval().is_none() {
        config.keepalives_interval(interval);
    }
    if config.get_keepalives_retries().is_none() {
        config.keepalives_retries(retries);
    }
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(limits.operation);
    }
    if config.get_application_name().is_none() {
        config.application_name("ai-services");
    }
    // If an option is set twice, the last value takes precedence.
    let timeout = millis(limits.operation);
    let options = config.get_options().unwrap_or_default();
    let options = format!("-c statement_timeout={timeout} {options}");
    config.options(options.trim_end());
}

pub(super) fn build(
    config: Config,
    tls: Option<ClientConfig>,
    size: usize,
    limits: Limits,
) -> Result<Pool> {
    if size == 0 {
        return Err(Error::configuration("`pool_size` must be greater than zero, but is 0"));
    }
    if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
        return Err(Error::configuration("the URL of the PostgreSQL server has no host"));
    }
    let hosts = config.get_hosts().len().max(config.get_hostaddrs().len());
    let connect = limits.connect.saturating_mul(u32::try_from(hosts).unwrap_or(u32::MAX));
    // A closed connection is detected without a query. A query would cost a round trip for each operation,
    // and the connection could still break afterwards, which is retried.
    let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
    let mode = config.get_ssl_mode();
    let tls = match (tls, mode) {
        (_, SslMode::Disable) => None,
        (Some(tls), _) => Some(tls),
        // Without root certificates, servers that offer TLS are rejected, but others work.
        (None, SslMode::Prefer) => {
            Some(tls::with_system_roots().or_else(|_| tls::without_root_certificates())?)
        }
        (None, _) => Some(tls::with_system_roots()?),
    };
    let manager = match tls {
        None => Manager::from_config(config, NoTls, recycling),
        Some(tls) => Manager::from_config(config, MakeRustlsConnect::new(tls), recycling),
    };
    let pool = Pool::builder(manager)
        .max_size(size)
        .wait_timeout(Some(limits.wait))
        .create_timeout(Some(connect))
        .runtime(Runtime::Tokio1);
    pool.build().map_err(|error| {
        Error::configuration("cannot build the connection pool").with_source(error)
    })
}

/// Converts a time limit to milliseconds for a server setting. At least 1, because 0 would mean no limit.
pub(super) fn millis(limit: Duration) -> i32 {
    i32::try_from(limit.as_millis()).unwrap_or(i32::MAX).max(1)
}
