//! Retrievers for tests.

use ai_services::rag::{ContentRetriever, Query, RetrievedContent};
use ai_services::{Result, async_trait};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Never finds anything; counts the searches that were begun, and those that were dropped.
#[derive(Clone, Debug, Default)]
pub struct Endless {
    begun: Arc<AtomicUsize>,
    dropped: Arc<AtomicUsize>,
}

struct Search(Arc<AtomicUsize>);

impl Drop for Search {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[async_trait]
impl ContentRetriever for Endless {
    async fn retrieve(&self, _: &Query) -> Result<Vec<RetrievedContent>> {
        self.begun.fetch_add(1, Ordering::SeqCst);
        let _search = Search(Arc::clone(&self.dropped));
        std::future::pending().await
    }
}

impl Endless {
    /// How many searches were begun, and how many of them were dropped.
    #[must_use]
    pub fn counts(&self) -> (usize, usize) {
        (self.begun.load(Ordering::SeqCst), self.dropped.load(Ordering::SeqCst))
    }
}
