//! Cancellation of work on a thread when the caller drops its future.

use super::TaskFailure;
use std::sync::{Arc, Weak};

/// Guard in the caller's future. Dropping it cancels the work.
#[derive(Debug, Default)]
pub(super) struct CallerGuard(Arc<()>);

/// Handle of the working thread that detects cancellation.
#[derive(Debug)]
pub(super) struct Cancellation(Weak<()>);

impl CallerGuard {
    pub(super) fn cancellation(&self) -> Cancellation {
        Cancellation(Arc::downgrade(&self.0))
    }
}

impl Cancellation {
    /// Returns an error if the caller has dropped its future. The error is not delivered.
    pub(super) fn check(&self) -> Result<(), TaskFailure> {
        if self.0.strong_count() == 0 { Err(TaskFailure::Closed) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::SqliteEmbeddingStore;
    use super::super::{search, write};
    use super::CallerGuard;
    use ai_services_core::document::TextSegment;
    use ai_services_core::embedding::{EmbeddingEntry, EmbeddingStore, Replace};
    use ai_services_core::store_kit::embeddings::CheckedEntries;

    #[tokio::test]
    async fn cancelled_work_ends_without_changes() {
        let store = SqliteEmbeddingStore::in_memory().await.unwrap();
        let entry = |id: &str| EmbeddingEntry::new(id, vec![1.0], TextSegment::new("text"));
        store.add(vec![entry("a")]).await.unwrap();
        let added = CheckedEntries::new(vec![entry("b")], None).unwrap();
        let changed = store.write("change", move |connection, sql, _| {
            let cancelled = CallerGuard::default().cancellation();
            write::replace(connection, sql, Replace::Nothing, &added, &cancelled)
        });
        assert!(changed.await.unwrap_err().to_string().contains("closed"));
        assert_eq!(store.count().await.unwrap(), 1);
        let found = store.read("search", |connection, sql, _| {
            let cancelled = CallerGuard::default().cancellation();
            let nearest = search::NearestQuery { vector: &[1.0], max_results: 1, min_score: 0.0 };
            nearest.find(connection, sql, None, &cancelled)
        });
        assert!(found.await.is_err());
    }
}
