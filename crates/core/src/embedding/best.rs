//! Selection of the best search results.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// The best entries so far, up to a limit: the entries with the highest scores, ties broken by the
/// smaller id.
#[doc(hidden)]
#[derive(Debug)]
pub struct Best<T> {
    limit: usize,
    /// The worst entry is on top.
    heap: BinaryHeap<Scored<T>>,
}

/// An entry with an id.
#[doc(hidden)]
pub trait Identified {
    fn id(&self) -> &str;
}

/// An entry with its score. A greater value is a worse entry.
#[derive(Debug)]
struct Scored<T> {
    score: f64,
    entry: T,
}

impl<T: Identified> Best<T> {
    #[doc(hidden)]
    pub fn new(limit: usize) -> Self {
        Self { limit, heap: BinaryHeap::new() }
    }

    #[doc(hidden)]
    pub fn is_full(&self) -> bool {
        self.heap.len() >= self.limit
    }

    /// Returns `true` if an entry would be among the best.
    #[doc(hidden)]
    pub fn admits(&self, score: f64, id: &str) -> bool {
        !self.is_full() || self.heap.peek().is_some_and(|worst| worst.is_worse_than(score, id))
    }

    /// Adds an entry if it is among the best. Calls `entry` only in this case.
    #[doc(hidden)]
    pub fn offer(&mut self, score: f64, id: &str, entry: impl FnOnce() -> T) {
        if !self.is_full() {
            self.heap.push(Scored { score, entry: entry() });
        } else if let Some(mut worst) = self.heap.peek_mut()
            && worst.is_worse_than(score, id)
        {
            *worst = Scored { score, entry: entry() };
        }
    }

    /// Returns the entries with their scores, best first.
    #[doc(hidden)]
    pub fn into_sorted(self) -> impl Iterator<Item = (f64, T)> {
        self.heap.into_sorted_vec().into_iter().map(|Scored { score, entry }| (score, entry))
    }
}

impl<T: Identified> Scored<T> {
    fn is_worse_than(&self, score: f64, id: &str) -> bool {
        order((score, id), (self.score, self.entry.id())).is_lt()
    }
}

/// Orders better entries first.
fn order(one: (f64, &str), other: (f64, &str)) -> Ordering {
    other.0.total_cmp(&one.0).then_with(|| one.1.cmp(other.1))
}

impl<T: Identified> Ord for Scored<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        order((self.score, self.entry.id()), (other.score, other.entry.id()))
    }
}

impl<T: Identified> PartialOrd for Scored<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T: Identified> PartialEq for Scored<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<T: Identified> Eq for Scored<T> {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    impl Identified for String {
        fn id(&self) -> &str {
            self
        }
    }

    proptest! {
        #[test]
        fn best_entries_are_the_first_of_the_sorted_list(
            scores in vec(0..5_u8, 0..40),
            limit in 0..45_usize,
        ) {
            let entry = |(number, score): (usize, u8)| {
                (f64::from(score), format!("{}", (number * 7) % 41))
            };
            let mut all: Vec<_> = scores.into_iter().enumerate().map(entry).collect();
            let mut best = Best::new(limit);
            for (score, id) in &all {
                let is_admitted = best.admits(*score, id);
                let mut is_added = false;
                best.offer(*score, id, || {
                    is_added = true;
                    id.clone()
                });
                prop_assert_eq!(is_added, is_admitted);
                prop_assert!(best.heap.len() <= limit);
            }
            all.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            all.truncate(limit);
            prop_assert_eq!(best.into_sorted().collect::<Vec<_>>(), all);
        }
    }
}
