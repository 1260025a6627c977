//! Time limits of the application's functions.

use super::error::{FailureKind, ToolError};
use super::signals::Signals;
use futures_util::future::{BoxFuture, Either, FutureExt};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// The time limit of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimeLimit {
    pub(super) started: Instant,
    pub(super) timeout: Duration,
}

impl TimeLimit {
    /// Limits a function to the end of the time limit. A limit that is too long for the clock is none.
    ///
    /// # Errors
    ///
    /// If there is no timer. The function has not started then.
    pub(super) fn apply<T>(
        self,
        signals: &Signals,
        running: BoxFuture<'static, Result<T, ToolError>>,
    ) -> Result<impl Future<Output = Result<T, ToolError>> + use<T>, ToolError> {
        let Some(deadline) = self.started.checked_add(self.timeout) else {
            return Ok(Either::Left(running));
        };
        signals.set_deadline(deadline);
        // Panics outside of a runtime with a timer.
        let limited = catch_unwind(AssertUnwindSafe(|| timeout_at(deadline, running)));
        let limited = limited.map_err(|_| no_timer())?;
        let timeout = self.timeout;
        Ok(Either::Right(
            limited.map(move |outcome| outcome.unwrap_or_else(|_| Err(exceeded(timeout)))),
        ))
    }
}

fn exceeded(timeout: Duration) -> ToolError {
    let message = format!("the tool took longer than {timeout:?} and was stopped");
    ToolError::of(FailureKind::Timeout, message)
}

fn no_timer() -> ToolError {
    let message = "the tool was not started: its time limit needs a runtime with a timer";
    ToolError::of(FailureKind::Concealed, message)
}
