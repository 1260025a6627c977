//! Quality metrics of a list of passages.

/// Number of relevant labels that each passage adds to the passages before it.
pub(crate) type Gains = [usize];

/// Returns the share of the relevant labels that are in the first `k` passages.
pub(crate) fn recall_at(gains: &Gains, relevant: usize, k: usize) -> f64 {
    let found: usize = gains.iter().take(k).sum();
    if relevant == 0 { 0.0 } else { found as f64 / relevant as f64 }
}

/// Normalized discounted cumulative gain (Järvelin and Kekäläinen, 2002): like recall, but later passages
/// count less, by the logarithm of their rank. 1 if all relevant passages come first, one label each.
pub(crate) fn ndcg_at(gains: &Gains, relevant: usize, k: usize) -> f64 {
    let discount = |rank: usize| 1.0 / ((rank + 2) as f64).log2();
    let sum = |gains: &mut dyn Iterator<Item = usize>| -> f64 {
        gains.take(k).enumerate().map(|(rank, gain)| gain as f64 * discount(rank)).sum()
    };
    let ideal = sum(&mut std::iter::repeat_n(1, relevant));
    if relevant == 0 { 0.0 } else { (sum(&mut gains.iter().copied()) / ideal).min(1.0) }
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
    fn later_passages_count_less() {
        assert!(is(ndcg_at(&[1, 0], 1, 2), 1.0));
        // 1 / log2(3)
        assert!(is(ndcg_at(&[0, 1], 1, 2), 0.630_929_753_571_457_4));
        // (1 / log2(3) + 1 / log2(5)) / (1 + 1 / log2(3)) = 1.061606 / 1.630930
        assert!((ndcg_at(&[0, 1, 0, 1], 2, 4) - 0.650_921).abs() < 1e-6);
        assert!(is(ndcg_at(&[0, 1, 0, 1], 2, 1), 0.0));
        // Two labels in one passage do not exceed the ideal.
        assert!(is(ndcg_at(&[2], 2, 3), 1.0));
    }
}
