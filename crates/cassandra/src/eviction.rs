//! Which rows leave the memory, and how.

use super::rows::{StoredMessage, bigint};
use ai_services_core::store_kit::plan::Evict;

/// Rows that leave the memory.
#[derive(Debug, Default)]
pub(super) struct Eviction<'a> {
    pub(super) messages: Vec<&'a StoredMessage>,
    /// The ranges of numbers in which nothing stays: from behind the first to the second.
    pub(super) ranges: Vec<(i64, i64)>,
}

impl<'a> Eviction<'a> {
    pub(super) fn new(evict: &Evict, stored: &'a [StoredMessage]) -> Self {
        let mut eviction = Self::default();
        // The last row that stays; everything between it and the next one that stays can go.
        let (mut kept, mut is_open) = (0, false);
        for (at, message) in stored.iter().enumerate() {
            let is_evicted = match evict {
                Evict::Positions(range) => range.contains(&at),
                Evict::Numbers(numbers) => numbers.binary_search(&message.number).is_ok(),
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
    use super::super::rows::Raw;
    use super::*;

    fn ranges(evict: &Evict) -> Vec<(i64, i64)> {
        let message = |number| StoredMessage { number, record: Raw::default(), token: Some(1) };
        let stored: Vec<_> = [3, 5, 6, 9].map(message).into();
        Eviction::new(evict, &stored).ranges
    }

    #[test]
    fn neighbours_are_one_range() {
        assert_eq!(ranges(&Evict::Positions(0..2)), [(0, 5)]);
        assert_eq!(ranges(&Evict::Positions(1..9)), [(3, 9)]);
        assert_eq!(ranges(&Evict::Positions(2..2)), []);
        assert_eq!(ranges(&Evict::Numbers(vec![3, 6, 9])), [(0, 3), (5, 9)]);
    }
}
