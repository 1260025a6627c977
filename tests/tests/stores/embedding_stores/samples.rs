//! Sample entries, and shorthands for searches.

use ai_services::document::{Metadata, TextSegment};
use ai_services::embedding::{
    EmbeddingEntry, EmbeddingStore, Filter, SearchMatch, TextSearch, VectorSearch,
};

pub(crate) fn entry(id: &str, vector: &[f32], text: &str) -> EmbeddingEntry {
    EmbeddingEntry::new(id, vector.to_vec(), TextSegment::new(text))
}

pub(crate) fn described(id: &str, metadata: Metadata) -> EmbeddingEntry {
    let segment = TextSegment::new(format!("the text of {id}")).with_metadata(metadata);
    EmbeddingEntry::new(id, vec![0.6, 0.8], segment)
}

pub(crate) fn ids(found: &[SearchMatch]) -> Vec<&str> {
    found.iter().map(|found| &*found.id).collect()
}

/// Returns all entries that match the filter, by a vector search.
pub(crate) async fn nearest(
    store: &dyn EmbeddingStore,
    vector: &[f32],
    filter: Option<&Filter>,
) -> Vec<SearchMatch> {
    let search = VectorSearch::new(vector).max_results(1_000);
    let search = filter.map_or(search.clone(), |filter| search.filter(filter));
    store.search(&search).await.unwrap()
}

/// Returns all entries with at least one of the words.
pub(crate) async fn with_words(store: &dyn EmbeddingStore, words: &str) -> Vec<SearchMatch> {
    store.search_text(&TextSearch::new(words).max_results(1_000)).await.unwrap()
}
