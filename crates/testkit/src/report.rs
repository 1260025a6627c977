//! What the checks of a suite found.

use ai_services_core::{Error, ErrorKind, Result};
use std::fmt;
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// How long a check may take, unless told.
pub(super) const TIME_LIMIT: Duration = Duration::from_secs(120);

/// What all checks of a suite found, in the order of the checks.
///
/// Printed, it is one line a check.
#[derive(Clone, Debug)]
#[must_use = "a report says whether the store passed"]
pub struct Report {
    checks: Vec<Check>,
}

/// One check and how it went.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Check {
    /// What is checked, for example `stale_commit_is_refused`.
    pub name: &'static str,
    /// How it went.
    pub outcome: Outcome,
    /// How long it took.
    pub took: Duration,
}

/// How a check went.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The store does what it has to.
    Passed,
    /// The store does something else, described here.
    Failed(String),
    /// The check does not apply, or needs something that the suite was not given, named here.
    Skipped(&'static str),
}

impl Check {
    /// Makes a check, which fails if it takes too long.
    pub(super) async fn make(
        name: &'static str,
        time_limit: Duration,
        check: impl Future<Output = Verdict>,
    ) -> Self {
        let began = Instant::now();
        let outcome = match timeout(time_limit, check).await {
            Ok(Ok(())) => Outcome::Passed,
            Ok(Err(stop)) => stop.into(),
            Err(_) => Outcome::Failed(format!("it did not end within {time_limit:?}")),
        };
        Self { name, outcome, took: began.elapsed() }
    }
}

impl Report {
    pub(super) fn new(checks: Vec<Check>) -> Self {
        Self { checks }
    }

    /// All checks.
    #[must_use]
    pub fn checks(&self) -> &[Check] {
        &self.checks
    }

    /// The checks that failed.
    pub fn failures(&self) -> impl Iterator<Item = &Check> {
        self.checks.iter().filter(|check| matches!(check.outcome, Outcome::Failed(_)))
    }

    /// The checks that were skipped.
    pub fn skipped(&self) -> impl Iterator<Item = &Check> {
        self.checks.iter().filter(|check| matches!(check.outcome, Outcome::Skipped(_)))
    }

    /// Whether no check failed. Some may have been [skipped](Self::skipped).
    #[must_use]
    pub fn is_passed(&self) -> bool {
        self.failures().next().is_none()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Check { name, outcome, took } in &self.checks {
            match outcome {
                Outcome::Passed => writeln!(f, "passed   {name} ({} ms)", took.as_millis())?,
                Outcome::Failed(why) => writeln!(f, "FAILED   {name}: {why}")?,
                Outcome::Skipped(why) => writeln!(f, "skipped  {name}: {why}")?,
            }
        }
        let (failed, skipped) = (self.failures().count(), self.skipped().count());
        let passed = self.checks.len() - failed - skipped;
        write!(f, "{passed} passed, {failed} failed, {skipped} skipped")
    }
}

/// How a check ends; `Ok` if the store does what it has to.
pub(super) type Verdict<T = ()> = std::result::Result<T, Stop>;

/// Why a check ends early.
#[derive(Debug)]
pub(super) enum Stop {
    Failed(String),
    Skipped(&'static str),
}

impl Stop {
    /// The same reason, with what it is about.
    pub(super) fn about(self, what: impl fmt::Display) -> Self {
        match self {
            Self::Failed(why) => Self::Failed(format!("{what}: {why}")),
            Self::Skipped(why) => Self::Skipped(why),
        }
    }
}

impl From<Stop> for Outcome {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Failed(why) => Self::Failed(why),
            Stop::Skipped(why) => Self::Skipped(why),
        }
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(format!("{:?}: {error}", error.kind()))
    }
}

pub(super) fn failed(why: impl Into<String>) -> Stop {
    Stop::Failed(why.into())
}

/// Fails the check unless `holds`.
pub(super) fn ensure(holds: bool, why: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { Err(Stop::Failed(why())) }
}

/// Checks that an operation was refused with an error of this kind.
pub(super) fn refused<T>(what: &str, outcome: Result<T>, kind: ErrorKind) -> Verdict<Error> {
    match outcome {
        Err(error) if error.kind() == kind => Ok(error),
        Err(error) => Err(failed(format!(
            "{what} must be refused as {kind:?}, but the error is {:?}: {error}",
            error.kind()
        ))),
        Ok(_) => Err(failed(format!("{what} must be refused as {kind:?}, but succeeded"))),
    }
}
