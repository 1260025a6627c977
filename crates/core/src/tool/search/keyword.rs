//! Search by keywords.

use super::texts;
use super::words::{stems, synonyms};
use crate::model::ToolSpecification;
use std::collections::BTreeMap;

/// Weights of a word in the name, the description and the parameters of a tool.
const WEIGHTS: [f64; 3] = [2.5, 1.0, 0.4];
/// Saturation of repeated words, and influence of the length, as usual for BM25 (Robertson and Zaragoza, "The
/// Probabilistic Relevance Framework", 2009).
const K: f64 = 1.2;
const B: f64 = 0.5;
/// Weight of a synonym, and of a known word that shares its beginning with an unknown word of the query.
const SIMILAR: f64 = 0.5;
/// Number of letters that such words share at least.
const SHARED_LETTERS: usize = 4;

/// An index of the words of tools. Scores by BM25.
pub(super) struct KeywordIndex {
    /// For each word, the tools that contain it, with the weighted number of occurrences.
    words: BTreeMap<String, Vec<(usize, f64)>>,
    /// The weighted number of words of each tool, relative to the mean.
    lengths: Vec<f64>,
}

impl KeywordIndex {
    pub(super) fn new<'a>(tools: impl Iterator<Item = &'a ToolSpecification>) -> Self {
        let (mut words, mut lengths) = (BTreeMap::<_, Vec<_>>::new(), Vec::new());
        for (index, tool) in tools.enumerate() {
            let counts = counts(tool);
            lengths.push(counts.values().sum::<f64>());
            for (word, count) in counts {
                words.entry(word).or_default().push((index, count));
            }
        }
        let mean = (lengths.iter().sum::<f64>() / lengths.len().max(1) as f64).max(1.0);
        lengths.iter_mut().for_each(|length| *length /= mean);
        Self { words, lengths }
    }

    /// Returns the tools that contain a word of the query, best first. Of two equal ones, the first in the list wins.
    pub(super) fn ranked(&self, query: &str) -> Vec<usize> {
        let mut scores = vec![0.0; self.lengths.len()];
        let mut words: Vec<String> = stems(query).collect();
        words.sort_unstable();
        words.dedup();
        for word in &words {
            match self.words.get(word) {
                Some(tools) => self.add(tools, 1.0, &mut scores),
                None => {
                    for tools in self.similar(word) {
                        self.add(tools, SIMILAR, &mut scores);
                    }
                }
            }
        }
        for word in synonyms(&words) {
            if let Some(tools) = self.words.get(&word) {
                self.add(tools, SIMILAR, &mut scores);
            }
        }
        let mut ranked: Vec<usize> = (0..scores.len()).collect();
        let score = |index: usize| scores.get(index).copied().unwrap_or_default();
        ranked.retain(|index| score(*index) > 0.0);
        ranked.sort_by(|a, b| score(*b).total_cmp(&score(*a)));
        ranked
    }

    fn add(&self, tools: &[(usize, f64)], weight: f64, scores: &mut [f64]) {
        let (all, with) = (self.lengths.len() as f64, tools.len() as f64);
        let rarity = (1.0 + (all - with + 0.5) / (with + 0.5)).ln();
        for (index, count) in tools {
            let length = self.lengths.get(*index).copied().unwrap_or(1.0);
            let frequency = count * (K + 1.0) / (count + K * (1.0 - B + B * length));
            if let Some(score) = scores.get_mut(*index) {
                *score += weight * rarity * frequency;
            }
        }
    }

    /// Returns the entries of the words that share their beginning with an unknown one.
    fn similar(&self, word: &str) -> impl Iterator<Item = &[(usize, f64)]> {
        let shares = move |known: &str| {
            let shared = known.chars().zip(word.chars()).take_while(|(a, b)| a == b).count();
            let longest = known.chars().count().max(word.chars().count());
            shared >= SHARED_LETTERS && shared * 3 >= longest * 2
        };
        let similar = self.words.iter().filter(move |(known, _)| shares(known));
        similar.map(|(_, tools)| tools.as_slice())
    }
}

/// Returns the weighted number of occurrences of each word of a tool.
fn counts(tool: &ToolSpecification) -> BTreeMap<String, f64> {
    let (name, description, parameters) = texts(tool);
    let mut counts = BTreeMap::new();
    let parts = [vec![name], vec![description], parameters];
    for (texts, weight) in parts.iter().zip(WEIGHTS) {
        for word in texts.iter().flat_map(|text| stems(text)) {
            *counts.entry(word).or_insert(0.0) += weight;
        }
    }
    counts
}
