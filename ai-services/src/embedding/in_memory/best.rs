//! The best of many entries.

use super::block::Row;
use crate::embedding::SearchMatch;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// The best entries so far, at most so many.
pub(super) struct Best<'a> {
    max: usize,
    /// The worst of them is on top.
    heap: BinaryHeap<Candidate<'a>>,
}

/// An entry with its score. The greater of two is the worse one.
struct Candidate<'a> {
    score: f64,
    row: &'a Row,
}

impl<'a> Best<'a> {
    pub(super) fn new(max: usize) -> Self {
        Self { max, heap: BinaryHeap::new() }
    }

    pub(super) fn is_full(&self) -> bool {
        self.heap.len() >= self.max
    }

    /// Whether an entry would be among the best.
    pub(super) fn admits(&self, score: f64, row: &'a Row) -> bool {
        let is_better = |worst: &Candidate<'_>| Candidate { score, row } < *worst;
        !self.is_full() || self.heap.peek().is_some_and(is_better)
    }

    /// Takes an entry in if it is among the best.
    pub(super) fn offer(&mut self, score: f64, row: &'a Row) {
        let new = Candidate { score, row };
        if !self.is_full() {
            self.heap.push(new);
        } else if let Some(mut worst) = self.heap.peek_mut()
            && new < *worst
        {
            *worst = new;
        }
    }

    /// The entries, best first.
    pub(super) fn into_matches(self) -> Vec<SearchMatch> {
        let sorted = self.heap.into_sorted_vec().into_iter();
        sorted.map(|Candidate { score, row }| found(score, row)).collect()
    }
}

fn found(score: f64, row: &Row) -> SearchMatch {
    SearchMatch::new(&*row.id, score, row.segment.clone())
}

impl Ord for Candidate<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.score.total_cmp(&self.score).then_with(|| self.row.id.cmp(&other.row.id))
    }
}

impl PartialOrd for Candidate<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Candidate<'_> {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::TextSegment;
    use proptest::collection::vec;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn best_are_the_first_of_all_sorted(
            scores in vec(0..5_u8, 0..40),
            max in 0..45_usize,
        ) {
            let row = |(number, score): (usize, u8)| {
                let id = format!("{}", (number * 7) % 41).into();
                (f64::from(score), Row { id, segment: TextSegment::new("") })
            };
            let rows: Vec<_> = scores.into_iter().enumerate().map(row).collect();
            let mut best = Best::new(max);
            for (score, row) in &rows {
                let is_admitted = best.admits(*score, row);
                let before = best.heap.len();
                best.offer(*score, row);
                prop_assert!(is_admitted || best.heap.len() == before);
            }
            let mut expected: Vec<_> = rows.iter().map(|(score, row)| (*score, &*row.id)).collect();
            expected.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
            expected.truncate(max);
            let found = best.into_matches();
            let found: Vec<_> = found.iter().map(|found| (found.score, &*found.id)).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
