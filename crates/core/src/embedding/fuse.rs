//! Reciprocal rank fusion: combines several rankings.

use std::collections::HashMap;
use std::hash::RandomState;

/// The value of `k` in the paper (Cormack, Clarke, Büttcher: "Reciprocal Rank Fusion outperforms
/// Condorcet and individual Rank Learning Methods", SIGIR 2009).
#[doc(hidden)]
pub const DEFAULT_K: u32 = 60;

/// Combines rankings by reciprocal rank fusion and returns all items with their scores, best first.
///
/// The score of an item is the sum of `1 / (k + rank)` over the rankings that contain the item, with
/// ranks from 1. A duplicate within a ranking is ignored. Of equal items the first is returned. Items
/// with equal scores stay in the order in which they appeared.
///
/// `is_same` is called only for items with the same hash.
#[doc(hidden)]
pub fn reciprocal_rank_fusion<T>(
    rankings: impl IntoIterator<Item = Vec<T>>,
    k: u32,
    hash: impl Fn(&T, &RandomState) -> u64,
    is_same: impl Fn(&T, &T) -> bool,
) -> Vec<(T, f64)> {
    let hasher = RandomState::new();
    let mut places: HashMap<u64, Vec<usize>> = HashMap::new();
    let mut fused: Vec<Fused<T>> = Vec::new();
    for (ranking, items) in rankings.into_iter().enumerate() {
        let mut rank = 0.0;
        for item in items {
            let alike = places.entry(hash(&item, &hasher)).or_default();
            let same =
                |place: &usize| fused.get(*place).is_some_and(|known| is_same(&known.item, &item));
            let place = alike.iter().copied().find(same).unwrap_or_else(|| {
                alike.push(fused.len());
                fused.len()
            });
            if place == fused.len() {
                fused.push(Fused { item, score: 0.0, last: None });
            }
            if let Some(known) = fused.get_mut(place)
                && known.last != Some(ranking)
            {
                rank += 1.0;
                known.score += 1.0 / (f64::from(k) + rank);
                known.last = Some(ranking);
            }
        }
    }
    fused.sort_by(|one, other| other.score.total_cmp(&one.score));
    fused.into_iter().map(|fused| (fused.item, fused.score)).collect()
}

/// An item with the score so far.
struct Fused<T> {
    item: T,
    score: f64,
    /// Index of the last ranking that contained the item.
    last: Option<usize>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::hash::BuildHasher;

    fn fused(rankings: &[&[&'static str]]) -> Vec<&'static str> {
        let rankings = rankings.iter().map(|ranking| ranking.to_vec());
        let fused = reciprocal_rank_fusion(
            rankings,
            DEFAULT_K,
            |item, by| by.hash_one(item),
            |a, b| a == b,
        );
        fused.into_iter().map(|(item, _)| item).collect()
    }

    #[test]
    fn items_of_several_rankings_come_first() {
        assert_eq!(fused(&[]), [""; 0]);
        assert_eq!(fused(&[&[], &["a"]]), ["a"]);
        assert_eq!(fused(&[&["a", "b"], &["b"]]), ["b", "a"]);
        assert_eq!(fused(&[&["a", "b"], &["b", "c"]]), ["b", "a", "c"]);
        assert_eq!(fused(&[&["a", "b"], &["a", "c"]]), ["a", "b", "c"]);
    }

    #[test]
    fn items_with_equal_scores_stay_in_order() {
        assert_eq!(fused(&[&["a", "b"], &["c", "d"]]), ["a", "c", "b", "d"]);
        assert_eq!(fused(&[&["a", "b"], &["b", "a"]]), ["a", "b"]);
    }

    #[test]
    fn duplicate_in_a_ranking_counts_once() {
        assert_eq!(fused(&[&["a", "b", "b"]]), ["a", "b"]);
    }

    #[test]
    fn first_of_equal_items_is_kept() {
        let rankings = [vec![("a", 1), ("b", 2)], vec![("b", 3), ("a", 4)]];
        let fused =
            reciprocal_rank_fusion(rankings, 1, |item, by| by.hash_one(item.0), |a, b| a.0 == b.0);
        let half_and_third = 1.0 / 2.0 + 1.0 / 3.0;
        assert_eq!(fused, [(("a", 1), half_and_third), (("b", 2), half_and_third)]);
    }

    #[test]
    fn items_with_the_same_hash_may_differ() {
        let rankings = [vec![("a", 1), ("a", 2)], vec![("a", 2)]];
        let fused = reciprocal_rank_fusion(rankings, 1, |_, _| 7, |a, b| a == b);
        assert_eq!(fused.iter().map(|(item, _)| item.1).collect::<Vec<_>>(), [2, 1]);
    }

    fn without_duplicates(ranking: &[u8]) -> Vec<u8> {
        let mut seen = Vec::new();
        for item in ranking {
            if !seen.contains(item) {
                seen.push(*item);
            }
        }
        seen
    }

    proptest! {
        #[test]
        fn scores_match_the_formula(
            rankings in proptest::collection::vec(proptest::collection::vec(0_u8..12, 0..10), 0..5),
            k in 1_u32..200,
        ) {
            let got = reciprocal_rank_fusion(rankings.clone(), k, |_, _| 7, |a, b| a == b);
            let distinct: Vec<_> = rankings.iter().map(|one| without_duplicates(one)).collect();
            let mut expected: Vec<(u8, f64)> = Vec::new();
            for item in without_duplicates(&distinct.concat()) {
                let ranks = distinct.iter().filter_map(|one| one.iter().position(|own| *own == item));
                let score = ranks.map(|rank| 1.0 / (f64::from(k) + rank as f64 + 1.0)).sum();
                expected.push((item, score));
            }
            expected.sort_by(|one, other| other.1.total_cmp(&one.1));
            prop_assert_eq!(got, expected);
        }
    }
}
