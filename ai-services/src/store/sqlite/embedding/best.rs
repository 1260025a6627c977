//! The best entries seen so far.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// At most so many entries as are wanted: those with the highest scores, and of equal ones those with
/// the smallest ids.
#[derive(Debug)]
pub(super) struct Best {
    wanted: usize,
    /// The worst one is on top.
    heap: BinaryHeap<Candidate>,
}

/// An entry that may be among the best. The greater one fits worse.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) score: f64,
    pub(super) id: Box<str>,
    /// The row.
    pub(super) number: i64,
}

impl Best {
    pub(super) fn new(wanted: usize) -> Self {
        Self { wanted, heap: BinaryHeap::new() }
    }

    pub(super) fn offer(&mut self, score: f64, id: &str, number: i64) {
        let candidate = || Candidate { score, id: id.into(), number };
        if self.heap.len() < self.wanted {
            self.heap.push(candidate());
        } else if let Some(mut worst) = self.heap.peek_mut()
            && order((score, id), (worst.score, &worst.id)).is_lt()
        {
            *worst = candidate();
        }
    }

    /// Best first.
    pub(super) fn into_vec(self) -> Vec<Candidate> {
        self.heap.into_sorted_vec()
    }
}

/// The better one comes first.
fn order(one: (f64, &str), other: (f64, &str)) -> Ordering {
    other.0.total_cmp(&one.0).then_with(|| one.1.cmp(other.1))
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        order((self.score, &self.id), (other.score, &other.id))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Candidate {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn best_are_the_first_of_all_in_order(
            scores in prop::collection::vec(0_u8..5, 0..30),
            wanted in 0_usize..8,
        ) {
            let mut best = Best::new(wanted);
            let mut all = Vec::new();
            for (number, score) in scores.into_iter().enumerate() {
                let id = format!("{:02}", number * 7 % 31);
                best.offer(score.into(), &id, 0);
                all.push((5 - score, id));
            }
            all.sort();
            let expected: Vec<_> = all.into_iter().take(wanted).map(|(_, id)| id).collect();
            let found: Vec<_> = best.into_vec().into_iter().map(|it| it.id.into_string()).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
