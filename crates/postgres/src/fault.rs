//! What a failed statement means, and whether it is tried again.

use super::{deadpool_postgres, tokio_postgres};
use ai_services_core::memory::random;
use ai_services_core::{Error, ErrorKind, Result};
use deadpool_postgres::{PoolError, TimeoutType};
use std::error::Error as StdError;
use std::fmt::Write as _;
use std::future::Future;
use std::time::Duration;

/// How often an operation is tried if its connection breaks: a server that restarts needs longer,
/// and a caller should not wait for that unawares.
const ATTEMPTS: u32 = 3;

/// How often it is tried if the server asks for that, because other transactions were in the way.
/// Each time at least one of the others has gone ahead.
const CONTENDED_ATTEMPTS: u32 = 30;

/// A failure within one attempt.
#[derive(Debug)]
pub(super) struct Fault {
    error: Error,
    pub(super) cure: Cure,
}

/// What may help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cure {
    /// Nothing that could be done here.
    None,
    /// Another connection. Whether the statement was executed is not known.
    Reconnect,
    /// Preparing the statements again. Nothing was executed.
    Prepare,
    /// The same again: others were in the way, and nothing was done.
    Repeat,
}

/// Makes attempts until one succeeds or there is no hope. The number of the attempt counts from 0.
pub(super) async fn retried<T, F>(mut attempt: impl FnMut(u32) -> F + Send) -> Result<T>
where
    F: Future<Output = Result<T, Fault>> + Send,
{
    let (mut broken, mut contended) = (0, 0);
    loop {
        let Fault { error, cure } = match attempt(broken + contended).await {
            Ok(value) => return Ok(value),
            Err(fault) => fault,
        };
        let pause = match cure {
            Cure::None => return Err(error),
            Cure::Reconnect | Cure::Prepare => {
                broken += 1;
                if broken == ATTEMPTS {
                    return Err(error.with_attempts(ATTEMPTS));
                }
                Duration::from_millis(25) * 4_u32.pow(broken)
            }
            Cure::Repeat => {
                contended += 1;
                if contended == CONTENDED_ATTEMPTS {
                    return Err(error.with_attempts(CONTENDED_ATTEMPTS));
                }
                Duration::from_millis(2) * contended
            }
        };
        // Somewhere between the half and the whole, so that two who failed together part.
        tokio::time::sleep(pause.mul_f64(0.5 + (random() % 512) as f64 / 1024.0)).await;
    }
}

impl Fault {
    pub(super) fn new(error: Error, cure: Cure) -> Self {
        Self { error, cure }
    }

    /// Others were in the way.
    pub(super) fn contended(error: Error) -> Self {
        Self::new(error, Cure::Repeat)
    }

    /// A statement took too long. The server may still be at it.
    pub(super) fn timeout(limit: Duration) -> Self {
        let message = format!("PostgreSQL did not answer within {limit:?}");
        Self::new(Error::new(ErrorKind::Timeout, message), Cure::Reconnect)
    }

    /// There is no connection.
    pub(super) fn of_pool(error: PoolError, wait: Duration, connect: Duration) -> Self {
        let (kind, message) = match error {
            PoolError::Backend(error) => return Self::of_connecting(error),
            PoolError::Timeout(TimeoutType::Wait) => (
                ErrorKind::Timeout,
                format!("no connection of the pool became free within {wait:?}; raise `pool_size`"),
            ),
            PoolError::Timeout(TimeoutType::Create | TimeoutType::Recycle) => (
                ErrorKind::Connection,
                format!("PostgreSQL cannot be reached: it did not answer within {connect:?}"),
            ),
            PoolError::Closed => {
                (ErrorKind::Configuration, "the pool of connections was closed".to_owned())
            }
            PoolError::NoRuntimeSpecified | PoolError::PostCreateHook(_) => {
                (ErrorKind::Configuration, format!("the pool gives no connection: {error}"))
            }
        };
        Self::new(Error::new(kind, message).with_source(error), Cure::None)
    }

    fn of_connecting(error: tokio_postgres::Error) -> Self {
        if error.code().is_some() {
            return Self::from(error);
        }
        let reason = reason(&error);
        let (kind, cure, hint) = match error.to_string().as_str() {
            "authentication error" => (ErrorKind::Authentication, Cure::None, ""),
            "invalid configuration" if reason.ends_with("password missing") => {
                (ErrorKind::Authentication, Cure::None, "")
            }
            "invalid configuration" => (ErrorKind::Configuration, Cure::None, ""),
            "error performing TLS handshake" => (
                ErrorKind::Connection,
                Cure::None,
                "; if the server has no certificate that this machine trusts, use `tls` or \
                 `sslmode=disable`",
            ),
            _ => (ErrorKind::Connection, Cure::Reconnect, ""),
        };
        let message = format!("PostgreSQL cannot be reached: {reason}{hint}");
        Self::new(Error::new(kind, message).with_source(error), cure)
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::new(error, Cure::None)
    }
}

impl From<tokio_postgres::Error> for Fault {
    fn from(error: tokio_postgres::Error) -> Self {
        let (kind, cure, message) = match error.as_db_error() {
            Some(said) => {
                let (kind, cure, hint) = meaning(said.code().code());
                let message = format!("PostgreSQL: {}{hint}", said.message());
                (kind, cure, message)
            }
            None if is_broken(&error) => {
                let message = format!("the connection to PostgreSQL broke: {}", reason(&error));
                (ErrorKind::Connection, Cure::Reconnect, message)
            }
            None => {
                let message = format!("what PostgreSQL answers cannot be read: {}", reason(&error));
                (ErrorKind::Store, Cure::None, message)
            }
        };
        let code = error.code().map(|code| code.code().to_owned());
        let error = Error::new(kind, message).with_source(error);
        Self::new(if let Some(code) = code { error.with_code(code) } else { error }, cure)
    }
}

/// What an SQLSTATE means for a store, and what to do.
fn meaning(code: &str) -> (ErrorKind, Cure, &'static str) {
    use ErrorKind::{Authentication, Configuration, Connection, InvalidRequest, Store, Timeout};
    match code {
        // What pgvector says of vectors of different lengths.
        "22000" => (InvalidRequest, Cure::None, ""),
        "42P01" | "3F000" => (Configuration, Cure::None, "; call `ensure_schema`"),
        "42703" => (
            Configuration,
            Cure::None,
            "; the tables have another layout: call `ensure_schema`, or choose other names",
        ),
        "3D000" => (Configuration, Cure::None, "; create it, or name another one in the URL"),
        "42501" => (Authentication, Cure::None, "; grant the user what the store needs"),
        "40001" | "40P01" => (Store, Cure::Repeat, ""),
        "57014" => (Timeout, Cure::None, "; raise `operation_timeout`"),
        "25006" => (
            Connection,
            Cure::Reconnect,
            "; add `target_session_attrs=read-write` to the URL to be led to the primary server",
        ),
        // A plan or a prepared statement that is not what it was.
        "0A000" | "26000" | "42P05" => (
            Store,
            Cure::Prepare,
            "; a pooler between here and the server must support prepared statements: in PgBouncer, \
             set `max_prepared_statements`",
        ),
        "53300" => (Store, Cure::Reconnect, "; lower `pool_size` or raise `max_connections`"),
        "53100" => (Store, Cure::None, "; the server's disk is full"),
        "57P01" | "57P02" | "57P03" | "57P05" => (Connection, Cure::Reconnect, ""),
        code if code.starts_with("08") => (Connection, Cure::Reconnect, ""),
        code if code.starts_with("28") => (Authentication, Cure::None, ""),
        code if code.starts_with("53") => (Store, Cure::None, "; the server is short of resources"),
        _ => (Store, Cure::None, ""),
    }
}

/// Whether the connection is the problem. The driver does not say what kind an error has.
fn is_broken(error: &tokio_postgres::Error) -> bool {
    let is_io = error.source().is_some_and(<dyn StdError>::is::<std::io::Error>);
    let is_timeout_or_confusion = matches!(
        error.to_string().as_str(),
        "timeout waiting for server" | "unexpected message from server"
    );
    error.is_closed() || is_io || is_timeout_or_confusion
}

/// The texts of an error and its sources. None of them holds a password.
fn reason(error: &dyn StdError) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let said = error.to_string();
        if !text.contains(&said) {
            // Writing to a `String` does not fail.
            let _ = write!(text, ": {said}");
        }
        source = error.source();
    }
    text
}
