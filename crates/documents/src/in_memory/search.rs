//! Operations that scan all entries.

use super::block::{Block, Row};
use super::table::Snapshot;
use super::word_index::{MAX_SEARCHED, hashes};
use ai_services_core::document::MetadataValue;
use ai_services_core::embedding::compare;
use ai_services_core::embedding::{
    Best, Filter, Identified, SearchMatch, TextSearch, VectorSearch,
};
use ai_services_core::embedding::{cosine, score};
use std::cmp::Ordering;
use std::collections::HashSet;
use tokio::task::yield_now;

/// Returns the entries nearest to a normalized vector of the same dimensions.
pub(super) async fn nearest(
    snapshot: &Snapshot,
    vector: &[f32],
    search: &VectorSearch<'_>,
) -> Vec<SearchMatch> {
    let mut best = Best::new(search.max_results);
    if search.max_results == 0 {
        return Vec::new();
    }
    for (number, block) in snapshot.blocks().iter().enumerate() {
        yield_between_blocks(number).await;
        scan(block, vector, search, &mut best);
    }
    matches(best)
}

/// Offers the matching entries of a block to `best`.
///
/// The filter is evaluated before the score only until `best` is full: evaluating it costs about as much as a
/// score, and later nearly all entries are rejected by their score.
fn scan<'a>(block: &'a Block, vector: &[f32], search: &VectorSearch<'_>, best: &mut Best<&'a Row>) {
    for (own, row) in block.entries() {
        if !best.is_full() && !is_accepted(search.filter, row) {
            continue;
        }
        let score = score(cosine(vector, own));
        if score < search.min_score || !best.admits(score, &row.id) {
            continue;
        }
        if !best.is_full() || is_accepted(search.filter, row) {
            best.offer(score, &row.id, || row);
        }
    }
}

impl Identified for &Row {
    fn id(&self) -> &str {
        &self.id
    }
}

fn matches(best: Best<&Row>) -> Vec<SearchMatch> {
    let found = |(score, row): (f64, &Row)| SearchMatch::new(&*row.id, score, row.segment.clone());
    best.into_sorted().map(found).collect()
}

fn is_accepted(filter: Option<&Filter>, row: &Row) -> bool {
    filter.is_none_or(|filter| filter.accepts(row.segment.metadata()))
}

/// Yields to other tasks, except before the first block.
async fn yield_between_blocks(number: usize) {
    if number > 0 {
        yield_now().await;
    }
}

/// Calls `visit` with every entry that the filter accepts.
pub(super) async fn each<'a>(
    snapshot: &'a Snapshot,
    filter: Option<&Filter>,
    mut visit: impl FnMut(&'a Row),
) {
    for (number, block) in snapshot.blocks().iter().enumerate() {
        yield_between_blocks(number).await;
        block.rows().iter().filter(|row| is_accepted(filter, row)).for_each(&mut visit);
    }
}

/// Returns the distinct values of a key, sorted by type (texts first), then by value.
pub(super) async fn values(
    snapshot: &Snapshot,
    key: &str,
    filter: Option<&Filter>,
) -> Vec<MetadataValue> {
    let (mut values, mut seen) = (Vec::new(), HashSet::new());
    each(snapshot, filter, |row| {
        if let Some(value) = row.segment.metadata().get(key)
            && seen.insert(Identity::of(value))
        {
            values.push(value.clone());
        }
    })
    .await;
    values.sort_by(|a: &MetadataValue, b| {
        let kinds = kind(a).cmp(&kind(b));
        kinds.then_with(|| compare(a, b).unwrap_or(Ordering::Equal))
    });
    values
}

fn kind(value: &MetadataValue) -> u8 {
    match value {
        MetadataValue::Text(_) => 0,
        MetadataValue::Integer(_) => 1,
        MetadataValue::Float(_) => 2,
        MetadataValue::Boolean(_) => 3,
    }
}

/// A hashable form of a metadata value; equal values have equal identities.
#[derive(PartialEq, Eq, Hash)]
enum Identity<'a> {
    Text(&'a str),
    Integer(i64),
    Float(u64),
    Boolean(bool),
}

impl<'a> Identity<'a> {
    fn of(value: &'a MetadataValue) -> Self {
        match value {
            MetadataValue::Text(text) => Self::Text(text),
            MetadataValue::Integer(number) => Self::Integer(*number),
            // 0.0 and -0.0 are equal.
            MetadataValue::Float(number) => Self::Float((number + 0.0).to_bits()),
            MetadataValue::Boolean(value) => Self::Boolean(*value),
        }
    }
}

/// Term-frequency saturation of BM25; see Robertson and Zaragoza 2009, 3.4.
const K1: f64 = 1.2;

/// Text-length normalization of BM25.
const B: f64 = 0.75;

/// Returns the entries that match the words of a query best, ranked by BM25.
pub(super) async fn with_words(snapshot: &Snapshot, search: &TextSearch<'_>) -> Vec<SearchMatch> {
    let words = hashes(search.text, MAX_SEARCHED);
    if words.is_empty() || search.max_results == 0 {
        return Vec::new();
    }
    let (weights, average) = weights(snapshot, &words).await;
    let words: Vec<_> = words.into_iter().zip(weights).collect();
    let mut best = Best::new(search.max_results);
    for block in snapshot.blocks() {
        yield_now().await;
        for (row, score) in block.rows().iter().zip(scores(block, &words, average)) {
            if score > 0.0 && best.admits(score, &row.id) && is_accepted(search.filter, row) {
                best.offer(score, &row.id, || row);
            }
        }
    }
    matches(best)
}

/// Returns the weight of each word (rare words weigh more) and the average number of words in a text.
async fn weights(snapshot: &Snapshot, words: &[u64]) -> (Vec<f64>, f64) {
    let mut texts_with = vec![0_usize; words.len()];
    let mut total = 0;
    for (number, block) in snapshot.blocks().iter().enumerate() {
        yield_between_blocks(number).await;
        let index = block.words();
        total += index.total();
        for (count, word) in texts_with.iter_mut().zip(words) {
            *count += index.postings(*word).len();
        }
    }
    let all = snapshot.len() as f64;
    // As in Lucene: adding 1 keeps the weight positive for words that most texts have.
    let weight = |with: usize| (1.0 + (all - with as f64 + 0.5) / (with as f64 + 0.5)).ln();
    (texts_with.into_iter().map(weight).collect(), total as f64 / all)
}

/// Returns the score of every entry of a block; 0 for entries with none of the words.
fn scores(block: &Block, words: &[(u64, f64)], average: f64) -> Vec<f64> {
    let index = block.words();
    let mut scores = vec![0.0; block.rows().len()];
    for (word, weight) in words {
        for posting in index.postings(*word) {
            let (times, length) = (f64::from(posting.times), f64::from(index.length(posting.row)));
            let damped = times + K1 * (1.0 - B + B * length / average);
            if let Some(score) = scores.get_mut(posting.row as usize) {
                *score += weight * times * (K1 + 1.0) / damped;
            }
        }
    }
    scores
}
