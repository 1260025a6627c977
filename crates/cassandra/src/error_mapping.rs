//! Mapping of Cassandra errors to [`Error`], and retries.

use ai_services_core::{BoxError, Error, ErrorKind, Result};
use scylla::errors::{
    BadQuery, ConnectionError, ConnectionPoolError, ConnectionSetupRequestErrorKind, DbError,
    ExecutionError, MetadataError, NewSessionError, PrepareError, RequestAttemptError,
};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Maximum number of attempts at a request if its connection breaks, and the minimum if the cluster times
/// out.
const ATTEMPTS: u32 = 3;

/// The error of one attempt at a request.
#[derive(Debug)]
pub(super) struct AttemptFailure {
    pub(super) error: Error,
    recovery: Recovery,
}

/// The way to recover from a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Recovery {
    /// No retry.
    None,
    /// A limited number of retries. It is unknown whether the attempt was applied.
    Retry,
    /// Retries until a time limit. It is unknown whether the attempt was applied. The cluster is reachable,
    /// but overloaded or busy with other writers of the same conversation.
    RetryUntilLimit,
}

/// The state of the retries of one request.
pub(super) struct Attempts {
    failed: u32,
    begun: Instant,
    retry_limit: Duration,
}

impl Attempts {
    /// Creates the state without a failed attempt. `retry_limit` is the time limit for retries after timeouts
    /// of the cluster.
    pub(super) fn within(retry_limit: Duration) -> Self {
        Self { failed: 0, begun: Instant::now(), retry_limit }
    }

    pub(super) fn is_first(&self) -> bool {
        self.failed == 0
    }

    /// Records a failed attempt, and waits until the request may be retried.
    ///
    /// # Errors
    ///
    /// Returns the error of the attempt immediately if the request is not retried.
    pub(super) async fn record_failure(&mut self, failure: AttemptFailure) -> Result<()> {
        let number = self.failed;
        self.failed += 1;
        let should_retry = match failure.recovery {
            Recovery::None => false,
            Recovery::Retry => self.failed < ATTEMPTS,
            Recovery::RetryUntilLimit => {
                self.failed < ATTEMPTS || self.begun.elapsed() < self.retry_limit
            }
        };
        if !should_retry {
            return Err(failure.error.with_attempts(self.failed));
        }
        pause(number).await;
        Ok(())
    }
}

/// Waits after attempt `number`, starting at 0: exponential back-off with a jitter of 50–100 %. Gives the
/// driver time to reconnect, and separates conflicting writers.
pub(super) async fn pause(number: u32) {
    let whole = Duration::from_millis(100) * 4_u32.saturating_pow(number.min(3));
    let jitter = 0.5 + (ai_services_core::store_kit::random() % 512) as f64 / 1024.0;
    sleep(whole.mul_f64(jitter)).await;
}

impl AttemptFailure {
    pub(super) fn transient(error: Error) -> Self {
        Self { error, recovery: Recovery::Retry }
    }

    pub(super) fn is_final(error: Error) -> Self {
        Self { error, recovery: Recovery::None }
    }

    /// Returns whether a retry may succeed. If so, it is unknown whether the attempt was applied.
    pub(super) fn is_transient(&self) -> bool {
        self.recovery != Recovery::None
    }

    /// Maps an answer that cannot be decoded. The attempt may have been applied.
    pub(super) fn answer(action: &str, error: impl Into<BoxError>) -> Self {
        let error = error.into();
        let message = format!("cannot read the answer of Cassandra ({action}): {error}");
        Self::transient(Error::new(ErrorKind::Store, message).with_source(error))
    }

    /// Maps an error of preparing a statement.
    pub(super) fn prepare(error: PrepareError) -> Self {
        match &error {
            PrepareError::AllAttemptsFailed { first_attempt } => {
                Self::attempt("prepare a statement", &first_attempt.clone(), error)
            }
            PrepareError::ConnectionPoolError(pool) => Self::pool(&pool.clone(), error),
            _ => Self::transient(failed("prepare a statement", error)),
        }
    }

    pub(super) fn prepare_timeout(limit: Duration) -> Self {
        let message = format!("Cassandra did not prepare a statement within {limit:?}");
        Self::transient(Error::new(ErrorKind::Timeout, message))
    }

    /// Maps an error of a request. `action` is for example `load a conversation`.
    pub(super) fn execution(action: &str, error: ExecutionError) -> Self {
        match &error {
            ExecutionError::RequestTimeout(limit) => {
                let message = format!("Cassandra did not {action} within {limit:?}");
                Self::transient(Error::new(ErrorKind::Timeout, message).with_source(error))
            }
            ExecutionError::ConnectionPoolError(pool) => Self::pool(&pool.clone(), error),
            ExecutionError::PrepareError(inner) => Self::prepare(inner.clone()),
            ExecutionError::LastAttemptError(attempt) => {
                Self::attempt(action, &attempt.clone(), error)
            }
            ExecutionError::BadQuery(BadQuery::TooManyQueriesInBatchStatement(rows)) => {
                let message =
                    format!("a change has at most 65,000 messages, but this one has {rows}");
                Self::is_final(Error::new(ErrorKind::LimitExceeded, message).with_source(error))
            }
            ExecutionError::BadQuery(_) => Self::is_final(failed(action, error)),
            ExecutionError::EmptyPlan => {
                let message = format!("no Cassandra node available to {action}");
                Self::transient(Error::new(ErrorKind::Connection, message).with_source(error))
            }
            _ => Self::transient(failed(action, error)),
        }
    }

    fn pool(pool: &ConnectionPoolError, source: impl Into<BoxError>) -> Self {
        if let ConnectionPoolError::Broken { last_connection_error } = pool
            && is_refused(last_connection_error)
        {
            return Self::is_final(refused(source.into()));
        }
        let message = format!("no connection to Cassandra: {pool}");
        Self::transient(Error::new(ErrorKind::Connection, message).with_source(source))
    }

    fn attempt(action: &str, attempt: &RequestAttemptError, source: impl Into<BoxError>) -> Self {
        let source = source.into();
        match attempt {
            RequestAttemptError::BrokenConnectionError(_) => {
                let message = format!("cannot {action}: the connection to Cassandra broke");
                Self::transient(Error::new(ErrorKind::Connection, message).with_source(source))
            }
            RequestAttemptError::DbError(kind, text) => Self::database(action, kind, text, source),
            RequestAttemptError::SerializationError(_)
            | RequestAttemptError::CqlRequestSerialization(_) => {
                Self::is_final(failed(action, source))
            }
            _ => Self::transient(failed(action, source)),
        }
    }

    fn database(action: &str, kind: &DbError, text: &str, source: BoxError) -> Self {
        match kind {
            DbError::Unauthorized | DbError::AuthenticationError => {
                let message = format!("Cassandra does not permit this user to {action}: {text}");
                Self::is_final(Error::new(ErrorKind::Authentication, message).with_source(source))
            }
            DbError::Invalid if is_too_large(text) => {
                let message = format!(
                    "a change of a conversation is too large for Cassandra; its default limit is 16 MiB: \
                     {text}"
                );
                Self::is_final(Error::new(ErrorKind::LimitExceeded, message).with_source(source))
            }
            DbError::Invalid | DbError::ConfigError if is_missing(text) => {
                let message = format!(
                    "the keyspace or its tables do not exist; call `ensure_schema` once: {text}"
                );
                Self::is_final(Error::configuration(message).with_source(source))
            }
            DbError::Invalid
            | DbError::SyntaxError
            | DbError::ConfigError
            | DbError::AlreadyExists { .. }
            | DbError::ProtocolError => Self::is_final(failed(action, source)),
            DbError::ReadTimeout { .. } | DbError::WriteTimeout { .. } => {
                let message = format!("Cassandra's replicas did not {action} in time: {kind}");
                let error = Error::new(ErrorKind::Timeout, message).with_source(source);
                Self { error, recovery: Recovery::RetryUntilLimit }
            }
            _ => Self::transient(failed(action, source).with_retryable(true)),
        }
    }
}

/// Maps an error of connecting.
pub(super) fn not_connected(error: NewSessionError) -> Error {
    if let NewSessionError::MetadataError(MetadataError::ConnectionPoolError(
        ConnectionPoolError::Broken { last_connection_error },
    )) = &error
        && is_refused(last_connection_error)
    {
        return refused(error.into());
    }
    let message = format!("Cassandra cannot be reached: {error}");
    let kind = match error {
        NewSessionError::EmptyKnownNodesList | NewSessionError::IllegalConfig(_) => {
            ErrorKind::Configuration
        }
        _ => ErrorKind::Connection,
    };
    Error::new(kind, message).with_source(error)
}

fn failed(action: &str, source: impl Into<BoxError>) -> Error {
    let source = source.into();
    Error::new(ErrorKind::Store, format!("Cassandra failed to {action}: {source}"))
        .with_source(source)
}

fn refused(source: BoxError) -> Error {
    let message = format!("Cassandra rejected the user or the password; set both: {source}");
    Error::new(ErrorKind::Authentication, message).with_source(source)
}

/// Returns whether a connection failed because of the credentials.
fn is_refused(error: &ConnectionError) -> bool {
    let ConnectionError::ConnectionSetupRequestError(setup) = error else { return false };
    matches!(
        setup.get_error(),
        ConnectionSetupRequestErrorKind::MissingAuthentication
            | ConnectionSetupRequestErrorKind::StartAuthSessionError(_)
            | ConnectionSetupRequestErrorKind::AuthChallengeEvaluationError(_)
            | ConnectionSetupRequestErrorKind::AuthFinishError(_)
            | ConnectionSetupRequestErrorKind::DbError(
                DbError::AuthenticationError | DbError::Unauthorized,
                _
            )
    )
}

/// Returns whether the text is that of a request that is too large. Cassandra does not have a code for it.
fn is_too_large(text: &str) -> bool {
    ["too big", "too large", "Batch too"].iter().any(|part| text.contains(part))
}

/// Returns whether the text is that of a missing keyspace or table. Cassandra does not have a code for it.
fn is_missing(text: &str) -> bool {
    ["does not exist", "unconfigured table"].iter().any(|part| text.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(10);

    /// Returns the number of attempts at a request that always fails, and the time until the last one.
    async fn attempts_until_error(failure: impl Fn() -> AttemptFailure) -> (u32, Duration) {
        let (start, mut attempts) = (Instant::now(), Attempts::within(LIMIT));
        for number in 1..=100 {
            if let Err(error) = attempts.record_failure(failure()).await {
                assert!(error.to_string().contains("the reason"), "{error}");
                return (number, start.elapsed());
            }
        }
        panic!("the request is retried without end");
    }

    fn database(kind: &DbError) -> AttemptFailure {
        AttemptFailure::database("load a conversation", kind, "", "the reason".into())
    }

    #[tokio::test(start_paused = true)]
    async fn permanent_failure_is_not_retried() {
        let failure = || AttemptFailure::is_final(Error::configuration("the reason"));
        let (number, time) = attempts_until_error(failure).await;
        assert_eq!((number, time), (1, Duration::ZERO));
    }

    #[tokio::test(start_paused = true)]
    async fn transient_failure_is_retried_twice() {
        let (number, time) = attempts_until_error(|| database(&DbError::IsBootstrapping)).await;
        assert_eq!(number, 3);
        assert!(time < Duration::from_secs(1), "{time:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn timeout_of_the_cluster_is_retried_until_the_limit() {
        use scylla::errors::WriteType;
        use scylla::statement::Consistency::LocalSerial;
        let (consistency, received, required) = (LocalSerial, 0, 1);
        let read = DbError::ReadTimeout { consistency, received, required, data_present: false };
        let write_type = WriteType::Cas;
        let write = DbError::WriteTimeout { consistency, received, required, write_type };
        for kind in [read, write] {
            let (number, time) = attempts_until_error(|| {
                let failure = database(&kind);
                AttemptFailure { error: Error::new(failure.error.kind(), "the reason"), ..failure }
            })
            .await;
            assert!(number > 3, "{number}");
            assert!(time >= LIMIT && time < LIMIT * 2, "{time:?}");
        }
    }
}
