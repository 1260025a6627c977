//! Judging passages without a model that was made for it.

use super::documents::words::words;
use ai_services::async_trait;
use ai_services::embedding::{EmbeddingModel, EmbeddingPurpose};
use ai_services::model::{Scores, ScoringModel};
use std::collections::HashSet;
use std::sync::Arc;

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
pub(crate) struct NearestSentence(pub(crate) Arc<dyn EmbeddingModel>);

#[async_trait]
impl ScoringModel for NearestSentence {
    async fn score(&self, query: &str, documents: &[&str]) -> ai_services::Result<Scores> {
        let asked = self.0.embed_query(query).await?;
        let parts: Vec<Vec<&str>> = documents.iter().map(|document| parts(document)).collect();
        let texts: Vec<&str> = parts.iter().flatten().copied().collect();
        let vectors = self.0.embed(&texts, EmbeddingPurpose::Document).await?.vectors;
        let mut near = vectors.iter().map(|vector| cosine(vector, &asked));
        let score = |parts: &Vec<&str>| {
            let own: Vec<f64> = near.by_ref().take(parts.len()).collect();
            let whole = own.first().copied().unwrap_or_default();
            f64::midpoint(whole, own.iter().copied().fold(whole, f64::max))
        };
        Ok(Scores::new(parts.iter().map(score)))
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
        let model = NearestSentence(Arc::new(HashingEmbedder));
        let long =
            "Bells ring at noon. Who lost the charger? Trains leave every hour from the harbour.";
        let scores =
            model.score("lost the charger", &[long, "Nothing at all."]).await.unwrap().scores;
        assert!(scores[0] > scores[1], "{scores:?}");
        assert_eq!(parts("One. Two three four."), ["One. Two three four.", "Two three four."]);
    }
}
