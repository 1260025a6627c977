//! The difference between two lists, as evictions and appends.

/// The evictions and appends that turn an old list into a new one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    /// Indices of the evicted items in the old list, in ascending order.
    pub(crate) evicted: Vec<usize>,
    /// Number of items at the start of the new list that the old list contained. The others are
    /// appended.
    pub(crate) kept: usize,
}

impl Difference {
    /// Computes the changes from `old` to `new`. The remaining items of `old` must come first in
    /// `new`, in the same order.
    pub(crate) fn between<T: PartialEq>(old: &[T], new: &[T]) -> Self {
        let mut remaining = new.iter().peekable();
        let mut evicted = Vec::new();
        for (position, item) in old.iter().enumerate() {
            if remaining.next_if(|next| *next == item).is_none() {
                evicted.push(position);
            }
        }
        Self { evicted, kept: new.len() - remaining.len() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn items_missing_in_the_new_list_are_evicted() {
        let difference = Difference::between(&["s", "a", "b", "c"], &["s", "c", "d"]);
        assert_eq!(difference, Difference { evicted: vec![1, 2], kept: 2 });
    }

    proptest! {
        #[test]
        fn evictions_and_appends_yield_the_new_list(
            old in prop::collection::vec(0_u8..4, 0..12),
            new in prop::collection::vec(0_u8..4, 0..12),
        ) {
            let Difference { evicted, kept } = Difference::between(&old, &new);
            let stays = old.iter().enumerate().filter(|(at, _)| !evicted.contains(at));
            let list: Vec<u8> = stays.map(|(_, item)| *item).chain(new[kept..].to_vec()).collect();
            prop_assert_eq!(list, new);
        }
    }
}
