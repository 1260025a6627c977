//! Time limits that leave out the time of the user.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::time::timeout;

/// The number of questions that wait for the user, shared by the connections to one server.
#[derive(Clone, Debug, Default)]
pub(super) struct UserWait(Arc<AtomicUsize>);

/// A question that the user has not answered.
#[cfg(feature = "auth")]
pub(super) struct OpenQuestion<'a>(&'a AtomicUsize);

impl UserWait {
    /// Registers a question until the guard is dropped.
    #[cfg(feature = "auth")]
    pub(super) fn open(&self) -> OpenQuestion<'_> {
        self.0.fetch_add(1, Ordering::AcqRel);
        OpenQuestion(&self.0)
    }

    /// Returns `true` while a question waits for the user.
    pub(super) fn is_open(&self) -> bool {
        self.0.load(Ordering::Acquire) > 0
    }

    /// Runs a future with a time limit, which starts again while a question waits for the user. Returns `None` at its end.
    pub(super) async fn limited<F: Future>(&self, limit: Duration, future: F) -> Option<F::Output> {
        let mut future = Box::pin(future);
        loop {
            match timeout(limit, &mut future).await {
                Ok(output) => return Some(output),
                Err(_) if self.is_open() => {}
                Err(_) => return None,
            }
        }
    }
}

#[cfg(feature = "auth")]
impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}
