//! A rule-based embedding model.

use super::words::words;
use ai_services::async_trait;
use ai_services::embedding::{EmbeddingModel, EmbeddingPurpose, Embeddings};

/// Length of the vectors. Longer vectors have fewer collisions of words.
const DIMENSIONS: usize = 1024;

/// Embedding model that hashes words and parts of words: texts with equal or similar words have similar
/// vectors. Unlike a real model it does not recognize synonyms.
///
/// Each feature is added to one element of the vector with a sign, so that collisions partly cancel out
/// (Weinberger and others, "Feature Hashing for Large Scale Multitask Learning", 2009).
pub(crate) struct HashingEmbedder;

#[async_trait]
impl EmbeddingModel for HashingEmbedder {
    async fn embed(&self, texts: &[&str], _: EmbeddingPurpose) -> ai_services::Result<Embeddings> {
        Ok(Embeddings::new(texts.iter().map(|text| vector(text))))
    }

    fn dimensions(&self) -> Option<usize> {
        Some(DIMENSIONS)
    }

    fn name(&self) -> &str {
        "hashing-1"
    }
}

fn vector(text: &str) -> Vec<f32> {
    let mut vector = vec![0.0_f32; DIMENSIONS];
    for word in words(text) {
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

fn add(vector: &mut [f32], feature: &str, weight: f32) {
    let hash = fnv(feature);
    let place = usize::try_from(hash % DIMENSIONS as u64).unwrap_or_default();
    if let Some(value) = vector.get_mut(place) {
        *value += if hash >> 63 == 0 { weight } else { -weight };
    }
}

/// FNV-1a with an additional mixing step. Equal on every machine, so vectors can be stored.
pub(crate) fn fnv(text: &str) -> u64 {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash ^ (hash >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cosine(a: &str, b: &str) -> f32 {
        vector(a).iter().zip(vector(b)).map(|(a, b)| a * b).sum()
    }

    #[test]
    fn similar_texts_have_similar_vectors() {
        let battery = "How long does the battery last?";
        assert!((cosine(battery, battery) - 1.0).abs() < 1e-5);
        assert!(
            cosine(battery, "The batteries last long.") > cosine(battery, "A deposit in cash.")
        );
        assert!(cosine("", "x").abs() < 0.2);
    }
}
