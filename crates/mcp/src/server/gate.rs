//! The number of calls that a server runs at once.

use tokio::sync::{Semaphore, SemaphorePermit};

/// Limits the calls that run and wait.
#[derive(Debug)]
pub(super) struct Gate {
    running: Semaphore,
    /// The calls that run or wait.
    admitted: Semaphore,
}

/// The right to run. Dropping it lets another call run.
pub(super) struct Permit<'a> {
    _running: SemaphorePermit<'a>,
    _admitted: SemaphorePermit<'a>,
}

impl Gate {
    /// Creates a gate for `calls` running calls, and the same number of waiting calls.
    pub(super) fn new(calls: usize) -> Self {
        let calls = calls.clamp(1, Semaphore::MAX_PERMITS / 2);
        Self { running: Semaphore::new(calls), admitted: Semaphore::new(2 * calls) }
    }

    /// Waits until the call may run. `None` if too many calls wait.
    pub(super) async fn enter(&self) -> Option<Permit<'_>> {
        let admitted = self.admitted.try_acquire().ok()?;
        let running = self.running.acquire().await.ok()?;
        Some(Permit { _running: running, _admitted: admitted })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    #[test]
    fn calls_wait_and_further_calls_are_rejected() {
        let gate = Gate::new(1);
        let running = gate.enter().now_or_never().unwrap().unwrap();
        let mut waiting = Box::pin(gate.enter());
        assert!(waiting.as_mut().now_or_never().is_none());
        assert!(gate.enter().now_or_never().unwrap().is_none());
        drop(running);
        assert!(waiting.now_or_never().unwrap().is_some());
    }
}
