//! Results of the checks of a suite.

use ai_services_core::{Error, ErrorKind, Result};
use std::fmt;
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// Default time limit of a check.
pub(super) const TIME_LIMIT: Duration = Duration::from_secs(120);

/// The results of all checks of a suite, in the order of the checks.
///
/// [`Display`](fmt::Display) prints one line per check and a summary.
#[derive(Clone, Debug)]
#[must_use = "check whether the store passed"]
pub struct Report {
    checks: Vec<Check>,
}

/// One check and its result.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Check {
    /// Name of the check, for example `stale_commit_is_rejected`.
    pub name: &'static str,
    /// Outcome of the check.
    pub outcome: Outcome,
    /// Duration of the check.
    pub took: Duration,
}

/// The outcome of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The store meets the requirement.
    Passed,
    /// The store does not meet the requirement, with a description of the failure.
    Failed(String),
    /// The check does not apply, or needs an option of the suite that is not set, with the reason.
    Skipped(&'static str),
}

impl Check {
    /// Runs a check, which fails if it exceeds the time limit.
    pub(super) async fn run(
        name: &'static str,
        time_limit: Duration,
        check: impl Future<Output = CheckResult>,
    ) -> Self {
        let start = Instant::now();
        let outcome = match timeout(time_limit, check).await {
            Ok(Ok(())) => Outcome::Passed,
            Ok(Err(stop)) => stop.into(),
            Err(_) => Outcome::Failed(format!("did not finish within {time_limit:?}")),
        };
        Self { name, outcome, took: start.elapsed() }
    }
}

impl Report {
    pub(super) fn new(checks: Vec<Check>) -> Self {
        Self { checks }
    }

    /// Returns all checks.
    #[must_use]
    pub fn checks(&self) -> &[Check] {
        &self.checks
    }

    /// Returns the checks that failed.
    pub fn failures(&self) -> impl Iterator<Item = &Check> {
        self.checks.iter().filter(|check| matches!(check.outcome, Outcome::Failed(_)))
    }

    /// Returns the checks that were skipped.
    pub fn skipped(&self) -> impl Iterator<Item = &Check> {
        self.checks.iter().filter(|check| matches!(check.outcome, Outcome::Skipped(_)))
    }

    /// Returns `true` if no check failed. Some checks may have been [skipped](Self::skipped).
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
                Outcome::Failed(reason) => writeln!(f, "FAILED   {name}: {reason}")?,
                Outcome::Skipped(reason) => writeln!(f, "skipped  {name}: {reason}")?,
            }
        }
        let (failed, skipped) = (self.failures().count(), self.skipped().count());
        let passed = self.checks.len() - failed - skipped;
        write!(f, "{passed} passed, {failed} failed, {skipped} skipped")
    }
}

/// The result of a check; `Ok` if the store meets the requirement.
pub(super) type CheckResult<T = ()> = std::result::Result<T, Stop>;

/// The reason why a check ends early.
#[derive(Debug)]
pub(super) enum Stop {
    Failed(String),
    Skipped(&'static str),
}

impl Stop {
    /// Adds the subject of a failure in front of its reason.
    pub(super) fn about(self, subject: impl fmt::Display) -> Self {
        match self {
            Self::Failed(reason) => Self::Failed(format!("{subject}: {reason}")),
            Self::Skipped(reason) => Self::Skipped(reason),
        }
    }
}

impl From<Stop> for Outcome {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Failed(reason) => Self::Failed(reason),
            Stop::Skipped(reason) => Self::Skipped(reason),
        }
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(format!("{:?}: {error}", error.kind()))
    }
}

pub(super) fn failed(reason: impl Into<String>) -> Stop {
    Stop::Failed(reason.into())
}

/// Fails the check unless `condition` is `true`.
pub(super) fn ensure(condition: bool, reason: impl FnOnce() -> String) -> CheckResult {
    if condition { Ok(()) } else { Err(Stop::Failed(reason())) }
}

/// Fails the check unless an operation was rejected with an error of this kind. Returns the error.
pub(super) fn rejected<T>(
    operation: &str,
    outcome: Result<T>,
    kind: ErrorKind,
) -> CheckResult<Error> {
    match outcome {
        Err(error) if error.kind() == kind => Ok(error),
        Err(error) => Err(failed(format!(
            "{operation} must be rejected with {kind:?}, but the error is {:?}: {error}",
            error.kind()
        ))),
        Ok(_) => Err(failed(format!("{operation} must be rejected with {kind:?}, but succeeded"))),
    }
}
