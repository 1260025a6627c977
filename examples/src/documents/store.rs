//! A small embedding store in memory, so that the examples need nothing else.

use super::words::words;
use ai_services::document::MetadataValue;
use ai_services::embedding::{
    EmbeddingEntry, EmbeddingStore, Filter, SearchMatch, TextSearch, VectorSearch,
};
use ai_services::{Result, async_trait};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The store of the examples. THIS IS THE PLACE to take another one: whatever is returned here is used,
/// for example one in a file that is still there at the next run.
pub(crate) fn open() -> Arc<dyn EmbeddingStore> {
    Arc::new(PassageStore::default())
}

/// Searches by looking at every entry.
#[derive(Default)]
struct PassageStore(Mutex<BTreeMap<Box<str>, EmbeddingEntry>>);

impl PassageStore {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<Box<str>, EmbeddingEntry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn accepted(&self, filter: Option<&Filter>) -> Vec<EmbeddingEntry> {
        self.lock().values().filter(|entry| accepts(filter, entry)).cloned().collect()
    }
}

fn accepts(filter: Option<&Filter>, entry: &EmbeddingEntry) -> bool {
    filter.is_none_or(|filter| filter.accepts(entry.segment.metadata()))
}

#[async_trait]
impl EmbeddingStore for PassageStore {
    async fn replace(&self, removed: Option<&Filter>, added: Vec<EmbeddingEntry>) -> Result<()> {
        let mut entries = self.lock();
        entries.retain(|_, entry| removed.is_none() || !accepts(removed, entry));
        entries.extend(added.into_iter().map(|entry| (entry.id.clone(), entry)));
        Ok(())
    }

    async fn search(&self, search: &VectorSearch<'_>) -> Result<Vec<SearchMatch>> {
        let dot = |a: &[f32], b: &[f32]| -> f64 {
            a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
        };
        let length = |vector: &[f32]| dot(vector, vector).sqrt();
        let scored = self.accepted(search.filter).into_iter().map(|entry| {
            let cosine = dot(&entry.vector, search.vector);
            let cosine = cosine / (length(&entry.vector) * length(search.vector)).max(1e-12);
            ((1.0 + cosine) / 2.0, entry)
        });
        let scored = scored.filter(|(score, _)| *score >= search.min_score).collect();
        Ok(best(scored, search.max_results))
    }

    /// BM25 with the usual constants (Robertson and Zaragoza, "The Probabilistic Relevance Framework",
    /// 2009).
    async fn search_text(&self, search: &TextSearch<'_>) -> Result<Vec<SearchMatch>> {
        const K: f64 = 1.2;
        const B: f64 = 0.75;
        let entries = self.accepted(search.filter);
        let texts: Vec<_> = entries.iter().map(|entry| words(entry.segment.text())).collect();
        let average = texts.iter().map(Vec::len).sum::<usize>() as f64 / texts.len().max(1) as f64;
        let mut query = words(search.text);
        query.sort();
        query.dedup();
        let mut scores = vec![0.0; texts.len()];
        for word in &query {
            let having = texts.iter().filter(|text| text.contains(word)).count() as f64;
            let rarity = (1.0 + (texts.len() as f64 - having + 0.5) / (having + 0.5)).ln();
            for (score, text) in scores.iter_mut().zip(&texts) {
                let often = text.iter().filter(|own| *own == word).count() as f64;
                let length = 1.0 - B + B * text.len() as f64 / average;
                *score += rarity * often * (K + 1.0) / (often + K * length);
            }
        }
        let scored = scores.into_iter().zip(entries).filter(|(score, _)| *score > 0.0).collect();
        Ok(best(scored, search.max_results))
    }

    async fn remove(&self, ids: &[&str]) -> Result<()> {
        self.lock().retain(|id, _| !ids.contains(&&**id));
        Ok(())
    }

    async fn remove_all(&self, filter: Option<&Filter>) -> Result<()> {
        self.lock().retain(|_, entry| !accepts(filter, entry));
        Ok(())
    }

    async fn count(&self, filter: Option<&Filter>) -> Result<u64> {
        Ok(self.lock().values().filter(|entry| accepts(filter, entry)).count() as u64)
    }

    async fn values(&self, key: &str, filter: Option<&Filter>) -> Result<Vec<MetadataValue>> {
        let mut values = Vec::new();
        for entry in self.lock().values().filter(|entry| accepts(filter, entry)) {
            let value = entry.segment.metadata().get(key).cloned();
            values.extend(value.filter(|value| !values.contains(value)));
        }
        Ok(values)
    }
}

/// The best first; those that are equally good by their ids, in which order they come.
fn best(mut scored: Vec<(f64, EmbeddingEntry)>, max: usize) -> Vec<SearchMatch> {
    scored.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    scored.truncate(max);
    let found =
        |(score, entry): (f64, EmbeddingEntry)| SearchMatch::new(entry.id, score, entry.segment);
    scored.into_iter().map(found).collect()
}
