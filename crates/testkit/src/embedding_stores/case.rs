//! The environment of one check.

use super::EmbeddingStoreSuite;
pub(super) use crate::report::{CheckResult, Stop, ensure, failed, rejected};
use ai_services_core::Result;
use ai_services_core::document::{Metadata, MetadataValue, TextSegment};
use ai_services_core::embedding::{
    EmbeddingEntry, EmbeddingStore, Filter, SearchMatch, TextSearch, VectorSearch,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// More results than any check has entries.
pub(super) const ALL: usize = 100_000;

/// One run of one check, with a new empty store.
pub(super) struct Case {
    store: Arc<dyn EmbeddingStore>,
}

impl Case {
    pub(super) fn new(store: Arc<dyn EmbeddingStore>) -> Self {
        Self { store }
    }

    pub(super) fn store(&self) -> &dyn EmbeddingStore {
        &*self.store
    }

    pub(super) async fn add(&self, entries: impl Into<Vec<EmbeddingEntry>>) -> CheckResult {
        let added = self.store.add(entries.into()).await;
        added.map_err(|error| failed(format!("`add`: {:?}: {error}", error.kind())))
    }

    /// Returns all entries that the filter accepts, by a vector search, best first.
    pub(super) async fn search(&self, filter: Option<&Filter>) -> Result<Vec<SearchMatch>> {
        let vector = direction(1.0);
        let mut search = VectorSearch::new(&vector).max_results(ALL);
        search.filter = filter;
        self.store.search(&search).await
    }

    /// Returns the ids of the entries that the filter accepts, sorted.
    pub(super) async fn ids(&self, filter: Option<&Filter>) -> CheckResult<Vec<String>> {
        let mut ids = ids(&self.search(filter).await?);
        ids.sort_unstable();
        Ok(ids)
    }

    /// Returns the ids of the results of a text search, best first.
    pub(super) async fn ids_with(&self, text: &str) -> CheckResult<Vec<String>> {
        let found = self.store.search_text(&TextSearch::new(text).max_results(ALL)).await;
        let found = found.map_err(|error| Stop::from(error).about(format_args!("{text:?}")))?;
        Ok(ids(&found))
    }

    /// Checks that the store has exactly these entries, with `count` and with a search.
    pub(super) async fn expect(&self, expected: &[EmbeddingEntry]) -> CheckResult {
        let count = self.store.count().await?;
        ensure(count == expected.len() as u64, || {
            format!("`count` returns {count}, expected {}", expected.len())
        })?;
        let found = self.search(None).await?;
        let mut found: BTreeMap<_, _> = found.iter().map(|m| (&*m.id, &m.segment)).collect();
        for EmbeddingEntry { id, segment, .. } in expected {
            let own = found.remove(&**id);
            ensure(own == Some(segment), || {
                format!(
                    "entry {:?} is {}, expected {}",
                    shortened(id),
                    shortened(own),
                    shortened(segment)
                )
            })?;
        }
        let others: Vec<_> = found.keys().map(shortened).collect();
        ensure(others.is_empty(), || format!("unexpected entries are found: {others:?}"))
    }
}

/// Formats a value in at most 200 characters: some values have megabytes.
fn shortened(value: impl std::fmt::Debug) -> String {
    const MAX_CHARACTERS: usize = 200;
    let text = format!("{value:?}");
    match text.char_indices().nth(MAX_CHARACTERS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

pub(super) fn ids(found: &[SearchMatch]) -> Vec<String> {
    found.iter().map(|found| found.id.to_string()).collect()
}

/// Returns a vector of length 1 at an angle to the first axis.
pub(super) fn direction(angle: f32) -> Vec<f32> {
    let mut vector = vec![0.0; EmbeddingStoreSuite::DIMENSIONS];
    for (number, part) in vector.iter_mut().zip([angle.cos(), angle.sin()]) {
        *number = part;
    }
    vector
}

/// Returns an entry that differs from others only by its id.
pub(super) fn entry(id: impl Into<Box<str>>) -> EmbeddingEntry {
    EmbeddingEntry::new(id, direction(0.5), TextSegment::new("text"))
}

/// The entry with another text and metadata.
pub(super) fn with_segment(mut entry: EmbeddingEntry, segment: TextSegment) -> EmbeddingEntry {
    entry.segment = segment;
    entry
}

pub(super) fn entry_with_text(id: impl Into<Box<str>>, text: &str) -> EmbeddingEntry {
    EmbeddingEntry::new(id, direction(0.5), TextSegment::new(text))
}

/// Returns an entry with one metadata key.
pub(super) fn entry_with(
    id: impl Into<Box<str>>,
    key: &str,
    value: impl Into<MetadataValue>,
) -> EmbeddingEntry {
    let segment = TextSegment::new("text").with_metadata(Metadata::new().with(key, value));
    EmbeddingEntry::new(id, direction(0.5), segment)
}
