//! Retrievers for tests.

use ai_services::rag::{ContentRetriever, Query, RetrievedContent};
use ai_services::{Result, async_trait};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A retriever that never returns, and counts the searches that started and that were dropped.
#[derive(Clone, Debug, Default)]
pub struct Endless {
    started: Arc<AtomicUsize>,
    dropped: Arc<AtomicUsize>,
}

struct DropCounter(Arc<AtomicUsize>);

impl Drop for DropCounter {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[async_trait]
impl ContentRetriever for Endless {
    async fn retrieve(&self, _: &Query) -> Result<Vec<RetrievedContent>> {
        self.started.fetch_add(1, Ordering::SeqCst);
        let _counter = DropCounter(Arc::clone(&self.dropped));
        std::future::pending().await
    }
}

impl Endless {
    /// Returns the number of searches that started, and the number of them that were dropped.
    #[must_use]
    pub fn counts(&self) -> (usize, usize) {
        (self.started.load(Ordering::SeqCst), self.dropped.load(Ordering::SeqCst))
    }
}
