//! Mapping of Redis errors to [`Error`], with advice.

use ai_services_core::{Error, ErrorKind};
use redis::{ErrorKind as DriverError, RedisError};
use std::error::Error as StdError;
use std::sync::Arc;

/// The error of one attempt at a request.
#[derive(Debug)]
pub(super) struct AttemptFailure {
    pub(super) stage: Stage,
    pub(super) source: RedisError,
}

/// The stage in which an attempt failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The request was not sent.
    Connecting,
    /// The request was sent, and the server may have executed it.
    Requesting,
}

/// The meaning of an error code: its kind, whether a retry may succeed, and advice.
struct ErrorCode {
    code: &'static str,
    kind: ErrorKind,
    is_transient: bool,
    advice: &'static str,
}

const fn error_code(
    code: &'static str,
    kind: ErrorKind,
    is_transient: bool,
    advice: &'static str,
) -> ErrorCode {
    ErrorCode { code, kind, is_transient, advice }
}

const CLUSTER_ADVICE: &str =
    "the server belongs to a Redis Cluster, which this store does not support";
const REJECTED_ADVICE: &str = "the server rejects the user or the password; check the URL";

const ERROR_CODES: [ErrorCode; 17] = [
    error_code(
        "WRONGTYPE",
        ErrorKind::Store,
        false,
        "a key of this store has the wrong type; choose another `key_prefix` or database",
    ),
    error_code(
        "OOM",
        ErrorKind::Store,
        false,
        "the server has reached `maxmemory`; raise it or delete old conversations",
    ),
    error_code(
        "MISCONF",
        ErrorKind::Store,
        false,
        "the server cannot write to its disk and therefore rejects changes; see its log",
    ),
    error_code(
        "READONLY",
        ErrorKind::Store,
        true,
        "the server is a replica; connect to the primary, or wait for the end of a failover",
    ),
    error_code(
        "NOREPLICAS",
        ErrorKind::Store,
        true,
        "the server has fewer replicas than it needs to accept changes; see `min-replicas-to-write`",
    ),
    error_code(
        "LOADING",
        ErrorKind::Store,
        true,
        "the server has just started and is loading its data; try again later",
    ),
    error_code(
        "BUSY",
        ErrorKind::Store,
        true,
        "the server is busy with a script of another client; try again later",
    ),
    error_code("MASTERDOWN", ErrorKind::Store, true, "the server is a replica without a primary"),
    error_code("NOAUTH", ErrorKind::Authentication, false, "the URL must contain a password"),
    error_code("WRONGPASS", ErrorKind::Authentication, false, REJECTED_ADVICE),
    error_code(
        "NOPERM",
        ErrorKind::Authentication,
        false,
        "the user lacks a permission; it needs all keys under the `key_prefix`, and the commands of \
         hashes, strings, sorted sets, keys and scripts",
    ),
    error_code("MOVED", ErrorKind::Configuration, false, CLUSTER_ADVICE),
    error_code("ASK", ErrorKind::Configuration, false, CLUSTER_ADVICE),
    error_code("CROSSSLOT", ErrorKind::Configuration, false, CLUSTER_ADVICE),
    error_code("CLUSTERDOWN", ErrorKind::Configuration, false, CLUSTER_ADVICE),
    error_code("TRYAGAIN", ErrorKind::Configuration, false, CLUSTER_ADVICE),
    error_code("NOSCRIPT", ErrorKind::Store, true, "the server has forgotten a script; try again"),
];

impl AttemptFailure {
    /// Returns whether the connection must be replaced.
    pub(super) fn is_connection_failure(&self) -> bool {
        let code = self.source.code();
        matches!(self.source.kind(), DriverError::Io | DriverError::Parse)
            // After a failover the address may lead to another primary.
            || code == Some("READONLY")
            || self.source.is_unrecoverable_error()
    }

    /// Returns whether the request may succeed immediately on another connection.
    pub(super) fn should_retry(&self) -> bool {
        match self.stage {
            // After a connection timeout the caller has waited long enough.
            Stage::Connecting => self.source.is_io_error() && !self.source.is_timeout(),
            Stage::Requesting => self.source.is_io_error(),
        }
    }

    /// Returns whether the server may have executed the request: it was sent, and not answered by an error.
    pub(super) fn may_be_executed(&self) -> bool {
        self.stage == Stage::Requesting && self.source.code().is_none()
    }

    /// Returns the error for the caller of an action, for example `load a conversation`.
    pub(super) fn explain(self, action: &str) -> Error {
        let Self { stage, source } = self;
        let (kind, is_transient, advice) = match source.kind() {
            DriverError::Io if stage == Stage::Requesting && source.is_timeout() => {
                let advice = "the server did not answer in time; see `response_timeout`";
                (ErrorKind::Timeout, true, advice)
            }
            DriverError::Io if is_certificate_error(&source) => {
                let advice = "the server's certificate is not trusted; trust its issuer";
                (ErrorKind::Connection, false, advice)
            }
            DriverError::Io if stage == Stage::Connecting => {
                (ErrorKind::Connection, true, "the server cannot be reached; check that it runs")
            }
            DriverError::Io => (ErrorKind::Connection, true, "the connection broke"),
            DriverError::Parse => {
                (ErrorKind::Connection, true, "the server does not use the Redis protocol")
            }
            DriverError::AuthenticationFailed => {
                (ErrorKind::Authentication, false, REJECTED_ADVICE)
            }
            DriverError::InvalidClientConfig => {
                (ErrorKind::Configuration, false, "the driver rejects these settings")
            }
            _ => match find_error_code(&source) {
                Some(error_code) => (error_code.kind, error_code.is_transient, error_code.advice),
                None => (ErrorKind::Store, false, "the server returned an error"),
            },
        };
        Error::new(kind, format!("Redis: cannot {action}: {advice} ({source})"))
            .with_retryable(is_transient)
            .with_source(source)
    }
}

fn is_certificate_error(source: &RedisError) -> bool {
    // The driver returns the `Arc` itself as the source.
    let shared =
        source.source().and_then(|shared| shared.downcast_ref::<Arc<dyn StdError + Send + Sync>>());
    let io = shared.and_then(|error| error.downcast_ref::<std::io::Error>());
    let tls = io.and_then(std::io::Error::get_ref).and_then(|tls| tls.downcast_ref());
    matches!(tls, Some(rustls::Error::InvalidCertificate(_)))
}

/// Finds the meaning of an error code, also inside the text of another error: a pipeline repeats the codes of
/// its commands, and so does a script before version 7. A missing permission in a script has a text instead of
/// a code.
fn find_error_code(source: &RedisError) -> Option<&'static ErrorCode> {
    let text = source.to_string();
    let of = |code: &str| ERROR_CODES.iter().find(|error_code| error_code.code == code);
    if text.contains("user executing the script can't") {
        return of("NOPERM");
    }
    source.code().and_then(of).or_else(|| {
        let mut words = text.split(|c: char| !c.is_ascii_uppercase());
        words.find_map(of)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explain(code: &str, detail: &str) -> Error {
        let source = redis::make_extension_error(code.to_owned(), Some(detail.to_owned()));
        AttemptFailure { stage: Stage::Requesting, source }.explain("load a conversation")
    }

    #[test]
    fn code_determines_kind_and_advice() {
        for (code, kind, is_transient) in [
            ("WRONGTYPE", ErrorKind::Store, false),
            ("OOM", ErrorKind::Store, false),
            ("LOADING", ErrorKind::Store, true),
            ("WRONGPASS", ErrorKind::Authentication, false),
            ("CROSSSLOT", ErrorKind::Configuration, false),
            ("UNKNOWN", ErrorKind::Store, false),
        ] {
            let error = explain(code, "from the server");
            assert_eq!((error.kind(), error.is_retryable()), (kind, is_transient), "{error}");
            assert!(error.to_string().starts_with("Redis: cannot load a conversation: "));
            assert!(error.to_string().contains("from the server"), "{error}");
        }
    }

    #[test]
    fn untrusted_certificate_is_not_retryable() {
        let tls = rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer);
        let source = std::io::Error::new(std::io::ErrorKind::InvalidData, tls).into();
        let error = AttemptFailure { stage: Stage::Connecting, source }.explain("connect");
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Connection, false));
        assert!(error.to_string().contains("trust"), "{error}");
    }

    #[test]
    fn error_code_inside_a_script_error_is_found() {
        let error =
            explain("ERR", "Error running script (call to f_1): @user_script:3: WRONGTYPE x");
        assert!(error.to_string().contains("`key_prefix`"), "{error}");
    }
}
