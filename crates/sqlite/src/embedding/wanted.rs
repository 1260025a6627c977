//! Whether a caller still waits for what a thread does.

use super::Fault;
use std::sync::{Arc, Weak};

/// Held by a caller as long as it waits.
#[derive(Debug, Default)]
pub(super) struct Wanted(Arc<()>);

/// Held by the thread that works for the caller.
#[derive(Debug)]
pub(super) struct Watch(Weak<()>);

impl Wanted {
    pub(super) fn watch(&self) -> Watch {
        Watch(Arc::downgrade(&self.0))
    }
}

impl Watch {
    /// Fails if the caller has gone. What it fails with reaches nobody.
    pub(super) fn check(&self) -> Result<(), Fault> {
        if self.0.strong_count() == 0 { Err(Fault::Closed) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::SqliteEmbeddingStore;
    use super::super::{search, write};
    use super::Wanted;
    use ai_services_core::document::TextSegment;
    use ai_services_core::embedding::{EmbeddingEntry, EmbeddingStore};
    use ai_services_core::store_kit::embeddings::Entries;

    #[tokio::test]
    async fn work_for_nobody_ends_and_changes_nothing() {
        let store = SqliteEmbeddingStore::in_memory().await.unwrap();
        let entry = |id: &str| EmbeddingEntry::new(id, vec![1.0], TextSegment::new("text"));
        store.add(vec![entry("a")]).await.unwrap();
        let added = Entries::new(vec![entry("b")], None).unwrap();
        let changed = store.write("change", move |connection, sql, _| {
            let gone = Wanted::default().watch();
            write::replace(connection, sql, None, &added, &gone)
        });
        assert!(changed.await.unwrap_err().to_string().contains("closed"));
        assert_eq!(store.count(None).await.unwrap(), 1);
        let found = store.read("search", |connection, sql, _| {
            let gone = Wanted::default().watch();
            let nearest = search::Nearest { vector: &[1.0], max_results: 1, min_score: 0.0 };
            nearest.find(connection, sql, None, &gone)
        });
        assert!(found.await.is_err());
    }
}
