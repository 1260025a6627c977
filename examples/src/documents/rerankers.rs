//! Re-rankers that work without a re-ranking model.

use super::documents::words::words;
use ai_services::async_trait;
use ai_services::embedding::{EmbeddingModel, EmbeddingPurpose};
use ai_services::model::{Scores, ScoringModel};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Scores a passage by the share of the question's words that it contains. Pairs of words count too, so the
/// order of words matters.
pub(crate) struct SharedWords;

#[async_trait]
impl ScoringModel for SharedWords {
    async fn score(&self, query: &str, documents: &[&str]) -> ai_services::Result<Scores> {
        let question = features(query);
        let score = |document: &&str| {
            let own = features(document);
            question.intersection(&own).count() as f64 / question.len().max(1) as f64
        };
        Ok(Scores::new(documents.iter().map(score)))
    }

    fn name(&self) -> &str {
        "shared words"
    }
}

fn features(text: &str) -> HashSet<String> {
    let words = words(text);
    let pairs: Vec<_> = words.windows(2).map(|pair| pair.join(" ")).collect();
    words.into_iter().chain(pairs).collect()
}

/// Scores a passage with an embedding model: the mean of the similarities of the question to the passage and
/// to its most similar sentence. The vector of a long passage alone blurs its single sentences.
pub(crate) struct NearestSentence {
    model: Arc<dyn EmbeddingModel>,
    /// Vectors of each passage: first its own, then those of its sentences.
    cache: Mutex<HashMap<Box<str>, Vec<Vec<f32>>>>,
}

impl NearestSentence {
    pub(crate) fn new(model: Arc<dyn EmbeddingModel>) -> Self {
        Self { model, cache: Mutex::default() }
    }

    fn cache(&self) -> MutexGuard<'_, HashMap<Box<str>, Vec<Vec<f32>>>> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl ScoringModel for NearestSentence {
    async fn score(&self, query: &str, documents: &[&str]) -> ai_services::Result<Scores> {
        let question = self.model.embed_query(query).await?;
        for document in documents {
            let is_cached = self.cache().contains_key(*document);
            if !is_cached {
                let parts = parts(document);
                let embedded = self.model.embed(&parts, EmbeddingPurpose::Document).await?;
                self.cache().insert((*document).into(), embedded.vectors);
            }
        }
        let cache = self.cache();
        let score = |document: &&str| {
            let vectors = cache.get(*document).map(Vec::as_slice).unwrap_or_default();
            let mut near = vectors.iter().map(|vector| cosine(vector, &question));
            let whole = near.next().unwrap_or_default();
            f64::midpoint(whole, near.fold(whole, f64::max))
        };
        Ok(Scores::new(documents.iter().map(score)))
    }

    fn name(&self) -> &str {
        "nearest sentence"
    }
}

/// Returns a passage and its sentences and lines.
fn parts(passage: &str) -> Vec<&str> {
    let sentences = passage.split_inclusive(['.', '!', '?', '|', '\n']).map(str::trim);
    let sentences = sentences.filter(|sentence| sentence.split_whitespace().count() > 2);
    std::iter::once(passage).chain(sentences).collect()
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| -> f64 {
        a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
    };
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt().max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::super::documents::source::hashing_model;
    use super::*;

    #[tokio::test]
    async fn words_in_question_order_score_higher() {
        let scores = SharedWords.score("lost charger", &["charger lost", "the lost charger", "x"]);
        let scores = scores.await.unwrap().scores;
        assert_eq!(scores, [2.0 / 3.0, 1.0, 0.0]);
    }

    #[tokio::test]
    async fn one_similar_sentence_raises_the_score() {
        let model = NearestSentence::new(Arc::new(hashing_model()));
        let long =
            "Bells ring at noon. Who lost the charger? Trains leave every hour from the harbour.";
        let scores =
            model.score("lost the charger", &[long, "Nothing at all."]).await.unwrap().scores;
        assert!(scores[0] > scores[1], "{scores:?}");
        assert_eq!(parts("One. Two three four."), ["One. Two three four.", "Two three four."]);
    }
}
