//! Selection of the rows that a commit evicts.

use super::rows::{StoredMessage, bigint};
use ai_services_core::store_kit::plan::EvictedRows;

/// The rows that a commit evicts.
#[derive(Debug, Default)]
pub(super) struct Eviction<'a> {
    pub(super) messages: Vec<&'a StoredMessage>,
    /// Ranges of numbers in which all rows are evicted; the start is exclusive, the end inclusive.
    pub(super) ranges: Vec<(i64, i64)>,
}

impl<'a> Eviction<'a> {
    pub(super) fn new(evict: &EvictedRows, stored: &'a [StoredMessage]) -> Self {
        let mut eviction = Self::default();
        // The last row that stays; all rows between it and the next one that stays are in one range.
        let (mut kept, mut is_open) = (0, false);
        for (at, message) in stored.iter().enumerate() {
            let is_evicted = match evict {
                EvictedRows::Positions(range) => range.contains(&at),
                EvictedRows::Numbers(numbers) => numbers.binary_search(&message.number).is_ok(),
            };
            let number = bigint(message.number);
            if !is_evicted {
                (kept, is_open) = (number, false);
                continue;
            }
            eviction.messages.push(message);
            match eviction.ranges.last_mut() {
                Some((_, end)) if is_open => *end = number,
                _ => eviction.ranges.push((kept, number)),
            }
            is_open = true;
        }
        eviction
    }
}

#[cfg(test)]
mod tests {
    use super::super::rows::RawText;
    use super::*;

    fn ranges(evict: &EvictedRows) -> Vec<(i64, i64)> {
        let message = |number| StoredMessage { number, record: RawText::default() };
        let stored: Vec<_> = [3, 5, 6, 9].map(message).into();
        Eviction::new(evict, &stored).ranges
    }

    #[test]
    fn adjacent_rows_become_one_range() {
        assert_eq!(ranges(&EvictedRows::Positions(0..2)), [(0, 5)]);
        assert_eq!(ranges(&EvictedRows::Positions(1..9)), [(3, 9)]);
        assert_eq!(ranges(&EvictedRows::Positions(2..2)), []);
        assert_eq!(ranges(&EvictedRows::Numbers(vec![3, 6, 9])), [(0, 3), (5, 9)]);
    }
}
