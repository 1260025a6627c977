//! Mapping of PostgreSQL errors to [`Error`], and retries.

use super::{deadpool_postgres, tokio_postgres};
use ai_services_core::store_kit::random;
use ai_services_core::{Error, ErrorKind, Result};
use deadpool_postgres::{PoolError, TimeoutType};
use std::error::Error as StdError;
use std::fmt::Write as _;
use std::future::Future;
use std::time::Duration;

/// Maximum number of attempts if the connection breaks. A server restart takes longer, and a caller should
/// not wait for it without notice.
const ATTEMPTS: u32 = 3;

/// Maximum number of attempts if other transactions interfere. In each round at least one of the other
/// transactions makes progress.
const CONTENDED_ATTEMPTS: u32 = 30;

/// The error of one attempt at an operation.
#[derive(Debug)]
pub(super) struct AttemptFailure {
    error: Error,
    pub(super) recovery: Recovery,
}

/// The way to recover from a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Recovery {
    /// No retry.
    None,
    /// A retry on another connection. It is unknown whether the statement was executed.
    Reconnect,
    /// A retry with newly prepared statements. The statement was not executed.
    Reprepare,
    /// A retry after contention with other transactions. The statement was rolled back.
    Retry,
}

/// Retries an operation with back-off until it succeeds, fails for good, or the maximum number of attempts is
/// reached. `attempt` receives the number of the attempt, starting at 0.
pub(super) async fn retry<T, F>(mut attempt: impl FnMut(u32) -> F + Send) -> Result<T>
where
    F: Future<Output = Result<T, AttemptFailure>> + Send,
{
    let (mut broken, mut contended) = (0, 0);
    loop {
        let AttemptFailure { error, recovery } = match attempt(broken + contended).await {
            Ok(value) => return Ok(value),
            Err(failure) => failure,
        };
        let pause = match recovery {
            Recovery::None => return Err(error),
            Recovery::Reconnect | Recovery::Reprepare => {
                broken += 1;
                if broken == ATTEMPTS {
                    return Err(error.with_attempts(ATTEMPTS));
                }
                Duration::from_millis(25) * 4_u32.pow(broken)
            }
            Recovery::Retry => {
                contended += 1;
                if contended == CONTENDED_ATTEMPTS {
                    return Err(error.with_attempts(CONTENDED_ATTEMPTS));
                }
                Duration::from_millis(2) * contended
            }
        };
        // Jitter: 50–100 % of the pause, so that operations that failed together do not collide again.
        tokio::time::sleep(pause.mul_f64(0.5 + (random() % 512) as f64 / 1024.0)).await;
    }
}

impl AttemptFailure {
    pub(super) fn new(error: Error, recovery: Recovery) -> Self {
        Self { error, recovery }
    }

    /// Returns whether the statement may have been executed although it failed. An error of the server means that
    /// it was rolled back, unless the server ended the connection.
    pub(super) fn may_be_executed(&self) -> bool {
        self.error.code().is_none_or(|code| code.starts_with("08") || code.starts_with("57P"))
    }

    /// Returns whether a row with this primary key exists already.
    pub(super) fn is_duplicate(&self) -> bool {
        self.error.code() == Some("23505")
    }

    /// Returns the failure of an attempt that lost against other transactions.
    pub(super) fn contended(error: Error) -> Self {
        Self::new(error, Recovery::Retry)
    }

    /// Returns the failure of a statement that was not answered in time. The server may still execute it.
    pub(super) fn timeout(limit: Duration) -> Self {
        let message = format!("PostgreSQL did not answer within {limit:?}");
        Self::new(Error::new(ErrorKind::Timeout, message), Recovery::Reconnect)
    }

    /// Maps an error of the pool, which has no connection.
    pub(super) fn from_pool_error(error: PoolError, wait: Duration, connect: Duration) -> Self {
        let (kind, message) = match error {
            PoolError::Backend(error) => return Self::from_connect_error(error),
            PoolError::Timeout(TimeoutType::Wait) => (
                ErrorKind::Timeout,
                format!("no connection of the pool became free within {wait:?}; raise `pool_size`"),
            ),
            PoolError::Timeout(TimeoutType::Create | TimeoutType::Recycle) => (
                ErrorKind::Connection,
                format!("PostgreSQL cannot be reached: it did not answer within {connect:?}"),
            ),
            PoolError::Closed => {
                (ErrorKind::Configuration, "the connection pool is closed".to_owned())
            }
            PoolError::NoRuntimeSpecified | PoolError::PostCreateHook(_) => {
                (ErrorKind::Configuration, format!("cannot get a connection of the pool: {error}"))
            }
        };
        Self::new(Error::new(kind, message).with_source(error), Recovery::None)
    }

    /// Maps an error that occurred while connecting.
    fn from_connect_error(error: tokio_postgres::Error) -> Self {
        if error.code().is_some() {
            return Self::from(error);
        }
        let reason = reason(&error);
        let (kind, recovery, hint) = match error.to_string().as_str() {
            "authentication error" => (ErrorKind::Authentication, Recovery::None, ""),
            "invalid configuration" if reason.ends_with("password missing") => {
                (ErrorKind::Authentication, Recovery::None, "")
            }
            "invalid configuration" => (ErrorKind::Configuration, Recovery::None, ""),
            "error performing TLS handshake" => (
                ErrorKind::Connection,
                Recovery::None,
                "; if the server has no certificate that this machine trusts, use `tls` or \
                 `sslmode=disable`",
            ),
            _ => (ErrorKind::Connection, Recovery::Reconnect, ""),
        };
        let message = format!("PostgreSQL cannot be reached: {reason}{hint}");
        Self::new(Error::new(kind, message).with_source(error), recovery)
    }
}

impl From<Error> for AttemptFailure {
    fn from(error: Error) -> Self {
        Self::new(error, Recovery::None)
    }
}

impl From<tokio_postgres::Error> for AttemptFailure {
    fn from(error: tokio_postgres::Error) -> Self {
        let (kind, recovery, message) = match error.as_db_error() {
            Some(database_error) => {
                let (kind, recovery, hint) = classify(database_error.code().code());
                let message = format!("PostgreSQL: {}{hint}", database_error.message());
                (kind, recovery, message)
            }
            None if is_broken(&error) => {
                let message = format!("the connection to PostgreSQL broke: {}", reason(&error));
                (ErrorKind::Connection, Recovery::Reconnect, message)
            }
            None => {
                let message = format!("cannot read the answer of PostgreSQL: {}", reason(&error));
                (ErrorKind::Store, Recovery::None, message)
            }
        };
        let code = error.code().map(|code| code.code().to_owned());
        let error = Error::new(kind, message).with_source(error);
        Self::new(if let Some(code) = code { error.with_code(code) } else { error }, recovery)
    }
}

/// Maps an SQLSTATE to an error kind, a way to recover, and advice.
fn classify(code: &str) -> (ErrorKind, Recovery, &'static str) {
    use ErrorKind::{Authentication, Configuration, Connection, InvalidRequest, Store, Timeout};
    match code {
        // Raised by pgvector for vectors of different lengths.
        "22000" => (InvalidRequest, Recovery::None, ""),
        "42P01" | "3F000" => (Configuration, Recovery::None, "; call `ensure_schema`"),
        "42703" => (
            Configuration,
            Recovery::None,
            "; the tables have another layout: call `ensure_schema`, or choose other names",
        ),
        "3D000" => (Configuration, Recovery::None, "; create it, or change the URL"),
        "42501" => (Authentication, Recovery::None, "; grant the user the missing privileges"),
        "40001" | "40P01" => (Store, Recovery::Retry, ""),
        "57014" => (Timeout, Recovery::None, "; raise `operation_timeout`"),
        "25006" => (
            Connection,
            Recovery::Reconnect,
            "; add `target_session_attrs=read-write` to the URL to connect to the primary server",
        ),
        // A plan or a prepared statement is outdated.
        "0A000" | "26000" | "42P05" => (
            Store,
            Recovery::Reprepare,
            "; a pooler in front of the server must support prepared statements: in PgBouncer, \
             set `max_prepared_statements`",
        ),
        "53300" => (Store, Recovery::Reconnect, "; lower `pool_size` or raise `max_connections`"),
        "53100" => (Store, Recovery::None, "; the server's disk is full"),
        "57P01" | "57P02" | "57P03" | "57P05" => (Connection, Recovery::Reconnect, ""),
        code if code.starts_with("08") => (Connection, Recovery::Reconnect, ""),
        code if code.starts_with("28") => (Authentication, Recovery::None, ""),
        code if code.starts_with("53") => {
            (Store, Recovery::None, "; the server is short of resources")
        }
        _ => (Store, Recovery::None, ""),
    }
}

/// Returns whether the connection is broken. The driver does not expose the kind of an error.
fn is_broken(error: &tokio_postgres::Error) -> bool {
    let is_io = error.source().is_some_and(<dyn StdError>::is::<std::io::Error>);
    let is_timeout_or_protocol_error = matches!(
        error.to_string().as_str(),
        "timeout waiting for server" | "unexpected message from server"
    );
    error.is_closed() || is_io || is_timeout_or_protocol_error
}

/// Joins the texts of an error and its sources, which never contain a password.
fn reason(error: &dyn StdError) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let cause = error.to_string();
        if !text.contains(&cause) {
            // Writing to a `String` does not fail.
            let _ = write!(text, ": {cause}");
        }
        source = error.source();
    }
    text
}
