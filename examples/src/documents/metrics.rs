//! How good a list of passages is.

/// What each passage of a list brings: how many of the wanted ones that had not come before.
pub(crate) type Gains = [usize];

/// Which share of what was wanted is among the first `k`.
pub(crate) fn recall_at(gains: &Gains, wanted: usize, k: usize) -> f64 {
    let found: usize = gains.iter().take(k).sum();
    if wanted == 0 { 0.0 } else { found as f64 / wanted as f64 }
}

/// Normalised discounted cumulative gain (Järvelin and Kekäläinen, 2002): as recall, but what comes late
/// counts less, by the logarithm of its place. 1 if everything wanted comes first, one a passage.
pub(crate) fn ndcg_at(gains: &Gains, wanted: usize, k: usize) -> f64 {
    let discount = |place: usize| 1.0 / ((place + 2) as f64).log2();
    let sum = |gains: &mut dyn Iterator<Item = usize>| -> f64 {
        gains.take(k).enumerate().map(|(place, gain)| gain as f64 * discount(place)).sum()
    };
    let ideal = sum(&mut std::iter::repeat_n(1, wanted));
    if wanted == 0 { 0.0 } else { (sum(&mut gains.iter().copied()) / ideal).min(1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is(value: f64, expected: f64) -> bool {
        (value - expected).abs() < 1e-9
    }

    #[test]
    fn recall_is_a_share() {
        assert!(is(recall_at(&[0, 1, 0, 1], 2, 1), 0.0));
        assert!(is(recall_at(&[0, 1, 0, 1], 2, 2), 0.5));
        assert!(is(recall_at(&[0, 1, 0, 1], 2, 10), 1.0));
        assert!(is(recall_at(&[], 1, 3), 0.0) && is(recall_at(&[], 0, 3), 0.0));
    }

    #[test]
    fn what_comes_late_counts_less() {
        assert!(is(ndcg_at(&[1, 0], 1, 2), 1.0));
        // 1 / log2(3)
        assert!(is(ndcg_at(&[0, 1], 1, 2), 0.630_929_753_571_457_4));
        // (1 / log2(3) + 1 / log2(5)) / (1 + 1 / log2(3)) = 1.061606 / 1.630930
        assert!((ndcg_at(&[0, 1, 0, 1], 2, 4) - 0.650_921).abs() < 1e-6);
        assert!(is(ndcg_at(&[0, 1, 0, 1], 2, 1), 0.0));
        // Two in one passage are no better than the ideal.
        assert!(is(ndcg_at(&[2], 2, 3), 1.0));
    }
}
