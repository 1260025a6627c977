//! What the driver and the server complain about, in terms of what can be done.

use ai_services_core::{Error, ErrorKind};
use redis::{ErrorKind as DriverError, RedisError};
use std::error::Error as StdError;
use std::sync::Arc;

/// A request that failed.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) stage: Stage,
    pub(super) source: RedisError,
}

/// When it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Before anything was asked.
    Connecting,
    /// Perhaps after the server has done it.
    Asking,
}

/// What an error's code means: the kind, whether it may pass, and what to do.
struct Meaning {
    code: &'static str,
    kind: ErrorKind,
    passes: bool,
    advice: &'static str,
}

const fn meaning(
    code: &'static str,
    kind: ErrorKind,
    passes: bool,
    advice: &'static str,
) -> Meaning {
    Meaning { code, kind, passes, advice }
}

const CLUSTER: &str = "the server belongs to a Redis Cluster, which this store does not support";
const REFUSED: &str = "the server refuses the user or the password; check the URL";

const MEANINGS: [Meaning; 17] = [
    meaning(
        "WRONGTYPE",
        ErrorKind::Store,
        false,
        "a key of this store holds something else; choose another `key_prefix` or database",
    ),
    meaning(
        "OOM",
        ErrorKind::Store,
        false,
        "the server has reached `maxmemory`; raise it or delete old conversations",
    ),
    meaning(
        "MISCONF",
        ErrorKind::Store,
        false,
        "the server cannot write to its disk and therefore refuses changes; see its log",
    ),
    meaning(
        "READONLY",
        ErrorKind::Store,
        true,
        "the server is a replica; connect to the primary, or wait for the end of a failover",
    ),
    meaning(
        "NOREPLICAS",
        ErrorKind::Store,
        true,
        "the server has fewer replicas than it needs to accept changes; see `min-replicas-to-write`",
    ),
    meaning(
        "LOADING",
        ErrorKind::Store,
        true,
        "the server has just started and is reading its data; try again later",
    ),
    meaning(
        "BUSY",
        ErrorKind::Store,
        true,
        "the server is busy with a script of somebody else; try again later",
    ),
    meaning("MASTERDOWN", ErrorKind::Store, true, "the server is a replica without a primary"),
    meaning("NOAUTH", ErrorKind::Authentication, false, "the server wants a password in the URL"),
    meaning("WRONGPASS", ErrorKind::Authentication, false, REFUSED),
    meaning(
        "NOPERM",
        ErrorKind::Authentication,
        false,
        "the server does not allow this to the user; it needs all keys under the `key_prefix`, and \
         the commands of hashes, strings, sorted sets, keys, scripts and transactions",
    ),
    meaning("MOVED", ErrorKind::Configuration, false, CLUSTER),
    meaning("ASK", ErrorKind::Configuration, false, CLUSTER),
    meaning("CROSSSLOT", ErrorKind::Configuration, false, CLUSTER),
    meaning("CLUSTERDOWN", ErrorKind::Configuration, false, CLUSTER),
    meaning("TRYAGAIN", ErrorKind::Configuration, false, CLUSTER),
    meaning("NOSCRIPT", ErrorKind::Store, true, "the server has forgotten a script; try again"),
];

impl Failure {
    /// Whether the connection is to be given up.
    pub(super) fn is_of_the_connection(&self) -> bool {
        let code = self.source.code();
        matches!(self.source.kind(), DriverError::Io | DriverError::Parse)
            // Behind one name there may be another primary by now.
            || code == Some("READONLY")
            || self.source.is_unrecoverable_error()
    }

    /// Whether the same request may succeed at once on another connection.
    pub(super) fn is_worth_another_attempt(&self) -> bool {
        match self.stage {
            // Who has waited in vain for a connection has waited for long enough.
            Stage::Connecting => self.source.is_io_error() && !self.source.is_timeout(),
            Stage::Asking => self.source.is_io_error(),
        }
    }

    /// The error for the caller who wanted to do `what`.
    pub(super) fn explain(self, what: &str) -> Error {
        let Self { stage, source } = self;
        let (kind, passes, advice) = match source.kind() {
            DriverError::Io if stage == Stage::Asking && source.is_timeout() => {
                let advice = "the server has not answered in time; see `response_timeout`";
                (ErrorKind::Timeout, true, advice)
            }
            DriverError::Io if is_of_the_certificate(&source) => {
                let advice = "the server's certificate is not accepted; trust who signed it";
                (ErrorKind::Connection, false, advice)
            }
            DriverError::Io if stage == Stage::Connecting => {
                (ErrorKind::Connection, true, "the server cannot be reached; check that it runs")
            }
            DriverError::Io => (ErrorKind::Connection, true, "the connection broke"),
            DriverError::Parse => {
                (ErrorKind::Connection, true, "what answers does not speak the protocol of Redis")
            }
            DriverError::AuthenticationFailed => (ErrorKind::Authentication, false, REFUSED),
            DriverError::InvalidClientConfig => {
                (ErrorKind::Configuration, false, "the driver cannot use these settings")
            }
            _ => match meaning_of(&source) {
                Some(meaning) => (meaning.kind, meaning.passes, meaning.advice),
                None => (ErrorKind::Store, false, "the server refuses"),
            },
        };
        Error::new(kind, format!("Redis: cannot {what}: {advice} ({source})"))
            .with_retryable(passes)
            .with_source(source)
    }
}

fn is_of_the_certificate(source: &RedisError) -> bool {
    // The driver gives the pointer itself as the source.
    let shared =
        source.source().and_then(|shared| shared.downcast_ref::<Arc<dyn StdError + Send + Sync>>());
    let io = shared.and_then(|error| error.downcast_ref::<std::io::Error>());
    let tls = io.and_then(std::io::Error::get_ref).and_then(|tls| tls.downcast_ref());
    matches!(tls, Some(rustls::Error::InvalidCertificate(_)))
}

/// What the server says, also where it says it within something else: a transaction repeats the codes of
/// its commands, and so does a script before version 7; a script puts a missing permission in words.
fn meaning_of(source: &RedisError) -> Option<&'static Meaning> {
    let text = source.to_string();
    let of = |code: &str| MEANINGS.iter().find(|meaning| meaning.code == code);
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
        Failure { stage: Stage::Asking, source }.explain("load a conversation")
    }

    #[test]
    fn code_decides_kind_and_advice() {
        for (code, kind, passes) in [
            ("WRONGTYPE", ErrorKind::Store, false),
            ("OOM", ErrorKind::Store, false),
            ("LOADING", ErrorKind::Store, true),
            ("WRONGPASS", ErrorKind::Authentication, false),
            ("CROSSSLOT", ErrorKind::Configuration, false),
            ("UNKNOWN", ErrorKind::Store, false),
        ] {
            let error = explain(code, "says the server");
            assert_eq!((error.kind(), error.is_retryable()), (kind, passes), "{error}");
            assert!(error.to_string().starts_with("Redis: cannot load a conversation: "));
            assert!(error.to_string().contains("says the server"), "{error}");
        }
    }

    #[test]
    fn refused_certificate_is_no_broken_connection() {
        let tls = rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer);
        let source = std::io::Error::new(std::io::ErrorKind::InvalidData, tls).into();
        let error = Failure { stage: Stage::Connecting, source }.explain("connect");
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Connection, false));
        assert!(error.to_string().contains("trust"), "{error}");
    }

    #[test]
    fn error_within_a_script_of_an_old_server_is_understood() {
        let error =
            explain("ERR", "Error running script (call to f_1): @user_script:3: WRONGTYPE x");
        assert!(error.to_string().contains("`key_prefix`"), "{error}");
    }
}
