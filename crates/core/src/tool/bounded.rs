//! Time limits of the application's functions.

use super::error::{FailureKind, ToolError};
use super::signals::Signals;
use futures_util::future::BoxFuture;
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
    /// Awaits a function, until the end of the time limit. A limit that is too long for the clock is none.
    pub(super) async fn apply<T>(
        self,
        signals: &Signals,
        running: BoxFuture<'static, Result<T, ToolError>>,
    ) -> Result<T, ToolError> {
        let Some(deadline) = self.started.checked_add(self.timeout) else { return running.await };
        signals.set_deadline(deadline);
        // Panics outside of a runtime with a timer. The function has not started then.
        let limited = catch_unwind(AssertUnwindSafe(|| timeout_at(deadline, running)));
        let Ok(limited) = limited else { return Err(no_timer()) };
        limited.await.unwrap_or_else(|_| {
            let message = format!("the tool took longer than {:?} and was stopped", self.timeout);
            Err(ToolError::of(FailureKind::Timeout, message))
        })
    }
}

fn no_timer() -> ToolError {
    let message = "the tool was not started: its time limit needs a runtime with a timer";
    ToolError::of(FailureKind::Concealed, message)
}
