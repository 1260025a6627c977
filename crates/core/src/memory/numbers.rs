//! The numbers of the stored messages of a conversation.

use std::ops::Range;

/// Ascending numbers, as ranges. Usually a single range, or two if a system message stays at the
/// front.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Numbers(Vec<Range<u64>>);

impl Numbers {
    pub(crate) fn iter(&self) -> impl Iterator<Item = u64> {
        self.0.iter().cloned().flatten()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.iter().map(length).sum()
    }

    pub(crate) fn last(&self) -> Option<u64> {
        self.0.last().map(|range| range.end - 1)
    }

    pub(crate) fn get(&self, index: usize) -> Option<u64> {
        let mut before = index;
        for range in &self.0 {
            match before.checked_sub(length(range)) {
                None => return Some(range.start + before as u64),
                Some(rest) => before = rest,
            }
        }
        None
    }

    /// Returns the index of a number.
    pub(crate) fn position(&self, number: u64) -> Option<usize> {
        let mut before = 0;
        for range in &self.0 {
            if range.contains(&number) {
                return Some(before + (number - range.start) as usize);
            }
            before += length(range);
        }
        None
    }

    /// Adds numbers above all others. Ignores an empty range.
    pub(crate) fn append(&mut self, new: Range<u64>) {
        match self.0.last_mut() {
            Some(last) if last.end == new.start => last.end = new.end,
            _ if new.is_empty() => {}
            _ => self.0.push(new),
        }
    }

    /// Removes the numbers at these indices. Indices past the end are ignored.
    pub(crate) fn remove_range(&mut self, indices: Range<usize>) {
        let end = indices.end.min(self.len());
        for index in (indices.start..end).rev() {
            self.remove(index);
        }
    }

    /// Removes the number at an index and returns it.
    pub(crate) fn remove(&mut self, index: usize) -> Option<u64> {
        let mut before = index;
        for (at, range) in self.0.iter_mut().enumerate() {
            if let Some(rest) = before.checked_sub(length(range)) {
                before = rest;
                continue;
            }
            let number = range.start + before as u64;
            let behind = number + 1..range.end;
            range.end = number;
            if range.is_empty() {
                self.0.remove(at);
                if !behind.is_empty() {
                    self.0.insert(at, behind);
                }
            } else if !behind.is_empty() {
                self.0.insert(at + 1, behind);
            }
            return Some(number);
        }
        None
    }
}

fn length(range: &Range<u64>) -> usize {
    (range.end - range.start) as usize
}

impl FromIterator<u64> for Numbers {
    /// Collects ascending numbers.
    fn from_iter<I: IntoIterator<Item = u64>>(numbers: I) -> Self {
        let mut all = Self::default();
        numbers.into_iter().for_each(|number| all.append(number..number + 1));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn removal_behind_a_first_number_splits_a_range() {
        let mut numbers: Numbers = (1..5).collect();
        numbers.remove_range(1..3);
        numbers.append(5..6);
        assert_eq!(numbers.0, [1..2, 4..6]);
        numbers.append(9..9);
        assert_eq!((numbers.last(), numbers.position(5)), (Some(5), Some(2)));
    }

    proptest! {
        #[test]
        fn numbers_are_a_sorted_list(
            steps in prop::collection::vec((0_usize..9, 0_usize..9, 0_u64..3, 0_u64..3), 0..12),
        ) {
            let (mut numbers, mut list, mut next) = (Numbers::default(), Vec::new(), 0);
            for (start, end, gap, count) in steps {
                numbers.remove_range(start..end);
                let end = end.min(list.len());
                list.drain(start.min(end)..end);
                numbers.append(next + gap..next + gap + count);
                list.extend(next + gap..next + gap + count);
                next += gap + count;
                prop_assert!(numbers.iter().eq(list.iter().copied()));
                prop_assert_eq!(numbers.len(), list.len());
                prop_assert_eq!(numbers.last(), list.last().copied());
                prop_assert_eq!(&list.iter().copied().collect::<Numbers>(), &numbers);
                for index in 0..=list.len() {
                    prop_assert_eq!(numbers.get(index), list.get(index).copied());
                }
                for number in 0..next + 1 {
                    let expected = list.iter().position(|found| *found == number);
                    prop_assert_eq!(numbers.position(number), expected);
                }
            }
        }
    }
}
