//! Judging passages without a model that was made for it.

use super::documents::words::words;
use ai_services::async_trait;
use ai_services::embedding::{EmbeddingModel, EmbeddingPurpose};
use ai_services::model::{Scores, ScoringModel};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The share of the question's words that a passage has; of pairs of words too, so that order counts.
pub(crate) struct SharedWords;

#[async_trait]
impl ScoringModel for SharedWords {
    async fn score(&self, query: &str, documents: &[&str]) -> ai_services::Result<Scores> {
        let asked = features(query);
        let score = |document: &&str| {
            let own = features(document);
            asked.intersection(&own).count() as f64 / asked.len().max(1) as f64
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

/// How near the question is to a passage and to the nearest of its sentences, by an embedding model: what
/// one sentence says is lost in the vector of a long passage.
pub(crate) struct NearestSentence {
    model: Arc<dyn EmbeddingModel>,
    /// The vectors of each passage: its own, and those of its sentences.
    known: Mutex<HashMap<Box<str>, Vec<Vec<f32>>>>,
}

impl NearestSentence {
    pub(crate) fn new(model: Arc<dyn EmbeddingModel>) -> Self {
        Self { model, known: Mutex::default() }
    }

    fn known(&self) -> MutexGuard<'_, HashMap<Box<str>, Vec<Vec<f32>>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl ScoringModel for NearestSentence {
    async fn score(&self, query: &str, documents: &[&str]) -> ai_services::Result<Scores> {
        let asked = self.model.embed_query(query).await?;
        for document in documents {
            let is_known = self.known().contains_key(*document);
            if !is_known {
                let parts = parts(document);
                let embedded = self.model.embed(&parts, EmbeddingPurpose::Document).await?;
                self.known().insert((*document).into(), embedded.vectors);
            }
        }
        let known = self.known();
        let score = |document: &&str| {
            let vectors = known.get(*document).map(Vec::as_slice).unwrap_or_default();
            let mut near = vectors.iter().map(|vector| cosine(vector, &asked));
            let whole = near.next().unwrap_or_default();
            f64::midpoint(whole, near.fold(whole, f64::max))
        };
        Ok(Scores::new(documents.iter().map(score)))
    }

    fn name(&self) -> &str {
        "nearest sentence"
    }
}

/// A passage, and its sentences and lines.
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
    use super::super::documents::embedder::HashingEmbedder;
    use super::*;

    #[tokio::test]
    async fn words_in_the_order_of_the_question_count_more() {
        let scores = SharedWords.score("lost charger", &["charger lost", "the lost charger", "x"]);
        let scores = scores.await.unwrap().scores;
        assert_eq!(scores, [2.0 / 3.0, 1.0, 0.0]);
    }

    #[tokio::test]
    async fn one_sentence_makes_a_passage_near() {
        let model = NearestSentence::new(Arc::new(HashingEmbedder));
        let long =
            "Bells ring at noon. Who lost the charger? Trains leave every hour from the harbour.";
        let scores =
            model.score("lost the charger", &[long, "Nothing at all."]).await.unwrap().scores;
        assert!(scores[0] > scores[1], "{scores:?}");
        assert_eq!(parts("One. Two three four."), ["One. Two three four.", "Two three four."]);
    }
}
