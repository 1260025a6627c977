//! What a failed request means, and whether it is tried again.

use ai_services_core::{BoxError, Error, ErrorKind, Result};
use scylla::errors::{
    BadQuery, ConnectionError, ConnectionPoolError, ConnectionSetupRequestErrorKind, DbError,
    ExecutionError, MetadataError, NewSessionError, PrepareError, RequestAttemptError,
};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How often a request is made if its connection breaks or the cluster asks for patience.
const ATTEMPTS: u32 = 3;

/// A failure of one request.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) error: Error,
    remedy: Remedy,
}

/// What helps against a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Remedy {
    Nothing,
    /// Making the request again. It is unknown what this one has done.
    Repetition,
    /// As `Repetition`, and the longer, the better: the cluster is there, but others who write the
    /// same conversation came first, or it has too much to do.
    Patience,
}

/// The attempts at one request.
pub(super) struct Attempts {
    failed: u32,
    begun: Instant,
    patience: Duration,
}

impl Attempts {
    /// Three, and as many as are made in this time if patience helps.
    pub(super) fn within(patience: Duration) -> Self {
        Self { failed: 0, begun: Instant::now(), patience }
    }

    pub(super) fn is_first(&self) -> bool {
        self.failed == 0
    }

    /// Waits until the request may be made again.
    ///
    /// # Errors
    ///
    /// The fault's, at once, if there is no hope.
    pub(super) async fn failed(&mut self, fault: Fault) -> Result<()> {
        let number = self.failed;
        self.failed += 1;
        let again = match fault.remedy {
            Remedy::Nothing => false,
            Remedy::Repetition => self.failed < ATTEMPTS,
            Remedy::Patience => self.failed < ATTEMPTS || self.begun.elapsed() < self.patience,
        };
        if !again {
            return Err(fault.error.with_attempts(self.failed));
        }
        pause(number).await;
        Ok(())
    }
}

/// The pause after attempt `number`, counted from 0. The driver connects again after a moment, and
/// whoever writes the same conversation gets out of each other's way.
pub(super) async fn pause(number: u32) {
    let whole = Duration::from_millis(100) * 4_u32.saturating_pow(number.min(3));
    let jitter = 0.5 + (ai_services_core::memory::random() % 512) as f64 / 1024.0;
    sleep(whole.mul_f64(jitter)).await;
}

impl Fault {
    pub(super) fn transient(error: Error) -> Self {
        Self { error, remedy: Remedy::Repetition }
    }

    pub(super) fn is_final(error: Error) -> Self {
        Self { error, remedy: Remedy::Nothing }
    }

    /// Whether the same request may succeed, and whether it is unknown what this one has done.
    pub(super) fn is_transient(&self) -> bool {
        self.remedy != Remedy::Nothing
    }

    /// An answer that is not what was asked for.
    pub(super) fn answer(what: &str, error: impl Into<BoxError>) -> Self {
        let error = error.into();
        let message = format!("Cassandra's answer cannot be read ({what}): {error}");
        Self::is_final(Error::new(ErrorKind::Store, message).with_source(error))
    }

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

    /// What came of a request to `what`, for example `load a conversation`.
    pub(super) fn execution(what: &str, error: ExecutionError) -> Self {
        match &error {
            ExecutionError::RequestTimeout(limit) => {
                let message = format!("Cassandra did not {what} within {limit:?}");
                Self::transient(Error::new(ErrorKind::Timeout, message).with_source(error))
            }
            ExecutionError::ConnectionPoolError(pool) => Self::pool(&pool.clone(), error),
            ExecutionError::PrepareError(inner) => Self::prepare(inner.clone()),
            ExecutionError::LastAttemptError(attempt) => {
                Self::attempt(what, &attempt.clone(), error)
            }
            ExecutionError::BadQuery(BadQuery::TooManyQueriesInBatchStatement(rows)) => {
                let message = format!("one change has at most 65,000 messages, not {rows}");
                Self::is_final(Error::new(ErrorKind::LimitExceeded, message).with_source(error))
            }
            ExecutionError::BadQuery(_) => Self::is_final(failed(what, error)),
            ExecutionError::EmptyPlan => {
                let message = format!("no node of Cassandra is there to {what}");
                Self::transient(Error::new(ErrorKind::Connection, message).with_source(error))
            }
            _ => Self::transient(failed(what, error)),
        }
    }

    fn pool(pool: &ConnectionPoolError, source: impl Into<BoxError>) -> Self {
        if let ConnectionPoolError::Broken { last_connection_error } = pool
            && is_refused(last_connection_error)
        {
            return Self::is_final(refused(source.into()));
        }
        let message = format!("there is no connection to Cassandra: {pool}");
        Self::transient(Error::new(ErrorKind::Connection, message).with_source(source))
    }

    fn attempt(what: &str, attempt: &RequestAttemptError, source: impl Into<BoxError>) -> Self {
        let source = source.into();
        match attempt {
            RequestAttemptError::BrokenConnectionError(_) => {
                let message = format!("the connection broke while Cassandra had to {what}");
                Self::transient(Error::new(ErrorKind::Connection, message).with_source(source))
            }
            RequestAttemptError::DbError(kind, text) => Self::database(what, kind, text, source),
            RequestAttemptError::SerializationError(_)
            | RequestAttemptError::CqlRequestSerialization(_) => {
                Self::is_final(failed(what, source))
            }
            _ => Self::transient(failed(what, source)),
        }
    }

    fn database(what: &str, kind: &DbError, text: &str, source: BoxError) -> Self {
        match kind {
            DbError::Unauthorized | DbError::AuthenticationError => {
                let message = format!("Cassandra does not let this user {what}: {text}");
                Self::is_final(Error::new(ErrorKind::Authentication, message).with_source(source))
            }
            DbError::Invalid if is_too_large(text) => {
                let message = format!(
                    "a change of a conversation is too large for Cassandra, whose limit is 16 MiB \
                     unless configured otherwise: {text}"
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
            | DbError::ProtocolError => Self::is_final(failed(what, source)),
            DbError::ReadTimeout { .. } | DbError::WriteTimeout { .. } => {
                let message = format!("Cassandra's replicas did not {what} in time: {kind}");
                let error = Error::new(ErrorKind::Timeout, message).with_source(source);
                Self { error, remedy: Remedy::Patience }
            }
            _ => Self::transient(failed(what, source).with_retryable(true)),
        }
    }
}

/// Why there is no session.
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

fn failed(what: &str, source: impl Into<BoxError>) -> Error {
    let source = source.into();
    Error::new(ErrorKind::Store, format!("Cassandra could not {what}: {source}"))
        .with_source(source)
}

fn refused(source: BoxError) -> Error {
    let message = format!("Cassandra refused the user or the password; set both: {source}");
    Error::new(ErrorKind::Authentication, message).with_source(source)
}

/// Whether a connection failed because of who asked for it.
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

/// Cassandra has no codes for these two.
fn is_too_large(text: &str) -> bool {
    ["too big", "too large", "Batch too"].iter().any(|sign| text.contains(sign))
}

fn is_missing(text: &str) -> bool {
    ["does not exist", "unconfigured table"].iter().any(|sign| text.contains(sign))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(10);

    /// After how many attempts, and when, a request is given up that fails each time.
    async fn given_up(fault: impl Fn() -> Fault) -> (u32, Duration) {
        let (start, mut attempts) = (Instant::now(), Attempts::within(LIMIT));
        for number in 1..=100 {
            if let Err(error) = attempts.failed(fault()).await {
                assert!(error.to_string().contains("the reason"), "{error}");
                return (number, start.elapsed());
            }
        }
        panic!("it is never given up");
    }

    fn database(kind: &DbError) -> Fault {
        Fault::database("load a conversation", kind, "", "the reason".into())
    }

    #[tokio::test(start_paused = true)]
    async fn hopeless_request_is_made_once() {
        let (number, time) = given_up(|| Fault::is_final(Error::configuration("the reason"))).await;
        assert_eq!((number, time), (1, Duration::ZERO));
    }

    #[tokio::test(start_paused = true)]
    async fn request_whose_connection_breaks_is_made_three_times() {
        let (number, time) = given_up(|| database(&DbError::IsBootstrapping)).await;
        assert_eq!(number, 3);
        assert!(time < Duration::from_secs(1), "{time:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn request_that_others_hold_up_is_made_for_as_long_as_told() {
        use scylla::errors::WriteType;
        use scylla::statement::Consistency::LocalSerial;
        let (consistency, received, required) = (LocalSerial, 0, 1);
        let read = DbError::ReadTimeout { consistency, received, required, data_present: false };
        let write_type = WriteType::Cas;
        let write = DbError::WriteTimeout { consistency, received, required, write_type };
        for kind in [read, write] {
            let (number, time) = given_up(|| {
                let fault = database(&kind);
                Fault { error: Error::new(fault.error.kind(), "the reason"), ..fault }
            })
            .await;
            assert!(number > 3, "{number}");
            assert!(time >= LIMIT && time < LIMIT * 2, "{time:?}");
        }
    }
}
