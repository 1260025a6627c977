//! How a list becomes another one by what stores can do: evict anywhere, append at the end.

/// What is evicted from an old list, and how much of the new one was there.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    /// Positions in the old list, in order.
    pub(crate) evicted: Vec<usize>,
    /// How many of the first of the new list stay. The others are appended.
    pub(crate) kept: usize,
}

impl Difference {
    /// What turns `old` into `new`. What stays of `old` must come first in `new`, in the same order.
    pub(crate) fn between<T: PartialEq>(old: &[T], new: &[T]) -> Self {
        let mut wanted = new.iter().peekable();
        let mut evicted = Vec::new();
        for (position, item) in old.iter().enumerate() {
            if wanted.next_if(|next| *next == item).is_none() {
                evicted.push(position);
            }
        }
        Self { evicted, kept: new.len() - wanted.len() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_moved_out_of_a_window_is_evicted() {
        let difference = Difference::between(&["s", "a", "b", "c"], &["s", "c", "d"]);
        assert_eq!(difference, Difference { evicted: vec![1, 2], kept: 2 });
    }

    proptest! {
        #[test]
        fn eviction_and_append_give_the_new_list(
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
