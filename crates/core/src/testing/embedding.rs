//! An embedding model without a network.

use crate::error::Result;
use crate::model::{EmbeddingModel, EmbeddingPurpose, Embeddings};
use async_trait::async_trait;
use std::fmt;
use std::sync::Arc;

/// Length of the vectors. Longer vectors have fewer collisions of words.
const DIMENSIONS: usize = 1024;

/// An embedding model that hashes words and parts of words: texts with equal or similar words have
/// similar vectors.
///
/// For tests and first steps without an API key. The vectors are equal on every machine and in every
/// process, so they can be stored. Unlike a real model, it does not recognize synonyms or other
/// languages. Vectors have 1,024 dimensions and the length 1.
///
/// Each feature is added to one element of the vector with a sign, so that collisions partly cancel
/// out (Weinberger and others, "Feature Hashing for Large Scale Multitask Learning", 2009).
///
/// # Examples
///
/// ```
/// use ai_services::embedding::{EmbeddingModel, EmbeddingPurpose};
/// use ai_services::testing::HashingEmbeddingModel;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> ai_services::Result<()> {
/// let model = HashingEmbeddingModel::new();
/// let texts = ["The battery lasts long.", "We take cash or cards."];
/// let documents = model.embed(&texts, EmbeddingPurpose::Document).await?.vectors;
/// let query = model.embed_query("How long does a battery last?").await?;
/// let cosine = |other: &[f32]| query.iter().zip(other).map(|(a, b)| a * b).sum::<f32>();
/// assert!(cosine(&documents[0]) > cosine(&documents[1]));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct HashingEmbeddingModel {
    words: Arc<SplitFn>,
}

/// A function that splits a text into words.
type SplitFn = dyn Fn(&str) -> Vec<String> + Send + Sync;

impl HashingEmbeddingModel {
    /// Creates a model whose words are the runs of letters and digits, in lower case.
    #[must_use]
    pub fn new() -> Self {
        Self { words: Arc::new(words) }
    }

    /// Sets the function that splits a text into words, for example without stop words.
    #[must_use]
    pub fn words(mut self, words: impl Fn(&str) -> Vec<String> + Send + Sync + 'static) -> Self {
        self.words = Arc::new(words);
        self
    }

    fn vector(&self, text: &str) -> Vec<f32> {
        let mut vector = vec![0.0_f32; DIMENSIONS];
        for word in (self.words)(text) {
            add(&mut vector, &word, 1.0);
            let padded: Vec<char> = format!("<{word}>").chars().collect();
            for part in padded.windows(4) {
                add(&mut vector, &part.iter().collect::<String>(), 0.3);
            }
        }
        // The weight of a repeated word grows with the square root of its count.
        for value in &mut vector {
            *value = value.signum() * value.abs().sqrt();
        }
        let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
        if length > 0.0 {
            vector.iter_mut().for_each(|value| *value /= length);
        } else if let Some(first) = vector.first_mut() {
            // A text without words gets an arbitrary vector, because stores reject zero vectors.
            *first = 1.0;
        }
        vector
    }
}

impl Default for HashingEmbeddingModel {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl EmbeddingModel for HashingEmbeddingModel {
    async fn embed(&self, texts: &[&str], _: EmbeddingPurpose) -> Result<Embeddings> {
        Ok(Embeddings::new(texts.iter().map(|text| self.vector(text))))
    }

    fn dimensions(&self) -> Option<usize> {
        Some(DIMENSIONS)
    }

    fn name(&self) -> &str {
        "hashing-1"
    }
}

impl fmt::Debug for HashingEmbeddingModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HashingEmbeddingModel").finish_non_exhaustive()
    }
}

fn words(text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    let found = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    found.map(str::to_owned).collect()
}

fn add(vector: &mut [f32], feature: &str, weight: f32) {
    let hash = hash(feature);
    let place = usize::try_from(hash % DIMENSIONS as u64).unwrap_or_default();
    if let Some(value) = vector.get_mut(place) {
        *value += if hash >> 63 == 0 { weight } else { -weight };
    }
}

/// FNV-1a with an additional mixing step. Unlike the hashes of the standard library, it never changes.
fn hash(text: &str) -> u64 {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash ^ (hash >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cosine(a: &str, b: &str) -> f32 {
        let model = HashingEmbeddingModel::new();
        model.vector(a).iter().zip(model.vector(b)).map(|(a, b)| a * b).sum()
    }

    #[test]
    fn similar_texts_have_similar_vectors() {
        let battery = "How long does the battery last?";
        assert!((cosine(battery, battery) - 1.0).abs() < 1e-5);
        assert!(
            cosine(battery, "The batteries last long.") > cosine(battery, "A deposit in cash.")
        );
    }

    #[test]
    fn vectors_have_length_one() {
        for text in ["", "...", "a", "Größe 47", "a a a a b"] {
            assert!((cosine(text, text) - 1.0).abs() < 1e-5, "{text}");
        }
    }

    #[test]
    fn vectors_never_change() {
        let vector = HashingEmbeddingModel::new().vector("tea");
        let places: Vec<_> = (0..DIMENSIONS).filter(|at| vector[*at] != 0.0).collect();
        assert_eq!(places, [26, 400, 482]);
    }
}
